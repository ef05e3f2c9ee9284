#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/search/searcher.hpp"

#include "search/pareto/repeated_front.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skyline::search {

/// Trains each candidate for the front of another searcher several times (`search.repeats`). A trial that
/// could be on the front is repeated, one repeat after the other and before anything new, until it has all
/// its repeats or is beaten; RepeatedFront decides. The algorithm is then told the mean, once, as the result
/// of its trial; until then that is in flight for it. It knows nothing of repeats: it has numbers of its own
/// for its trials.
class RepeatingSearcher final : public Searcher {
 public:
  /// @param algorithm  continues no trial
  /// @param trials     most trials, repeats included
  RepeatingSearcher(std::unique_ptr<Searcher> algorithm, const objective::ObjectiveSet& objectives,
                    std::uint32_t repeats, std::size_t trials);

  Answer ask(std::size_t room) override;
  bool accept(const trial::Proposal& recorded) override;
  void tell(const trial::CommittedTrial& committed) override;
  void think_on(ThreadCount threads) override { algorithm_->think_on(std::move(threads)); }
  void stop() override { algorithm_->stop(); }
  std::optional<std::size_t> generation() const override { return algorithm_->generation(); }
  bool finished() const override;
  void allow_one_more() override {
    ++trials_;
    algorithm_->allow_one_more();
  }
  bool gave_up() const override { return asked_ < trials_ && algorithm_->gave_up(); }
  std::string finish_reason() const override;
  std::size_t expected_trials() const override;
  std::string progress_summary() const override { return algorithm_->progress_summary(); }

 private:
  std::optional<trial::Proposal> next_repeat() const;
  void note_repeat(const trial::Proposal& repeat);
  void note_new();
  std::size_t room_for_new(std::size_t room) const;

  std::unique_ptr<Searcher> algorithm_;
  objective::ObjectiveSet objectives_;
  RepeatedFront front_;
  std::size_t trials_;                                    // most trials, repeats included
  std::size_t asked_ = 0;                                 // trials, repeats included
  std::size_t in_flight_ = 0;                             // trials without a result, repeats included
  std::size_t pending_ = 0;                               // trials of the algorithm that it was not told
  std::vector<trial::TrialNumber> numbers_;               // numbers of the algorithm's trials
  std::map<trial::TrialNumber, std::size_t> own_;         // the algorithm's numbers of trials
  std::map<trial::TrialNumber, std::uint32_t> repeated_;  // number of repeats asked for, by open trial
};

}  // namespace skyline::search
