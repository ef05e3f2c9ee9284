#pragma once

#include "skyline/core/random.hpp"
#include "skyline/search/algorithm.hpp"
#include "skyline/search/candidate_pool.hpp"

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace skyline::search {

/// A searcher that proposes candidates of a pool one by one, up to a number of trials. It ends sooner if
/// nothing is left to propose. An algorithm says what comes next.
class PoolSearcher : public Searcher {
 public:
  Answer ask(std::size_t room) final;
  void tell(const trial::CommittedTrial& committed) final;
  void allow_one_more() final { trials_ += trials_ == kUnlimited ? 0 : 1; }
  bool finished() const final { return is_over_ || asked_ == trials_; }
  bool gave_up() const final { return asked_ < trials_ && exhausted_ && !pool_.is_exhausted(); }
  std::string finish_reason() const override;
  std::size_t expected_trials() const override;

 protected:
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  /// @param name  that of the algorithm, for its random stream
  PoolSearcher(std::string_view name, const SearchProblem& problem, std::size_t trials);

  /// Returns the next proposal. If there is none, because results must be known first, because nothing is
  /// left, or because the attempts of the ask are exhausted, nothing may have changed on which later
  /// proposals depend.
  virtual std::optional<trial::Proposal> next() = 0;
  /// Counts a proposal that accept() has taken.
  void count_accepted() {
    ++asked_;
    ++in_flight_;
  }
  /// Takes a result.
  virtual void learn(const trial::CommittedTrial& /*committed*/) {}

  /// Returns a proposal of a random architecture, or nullopt if none is left. The best known ones come before
  /// those whose origin is kInitial.
  std::optional<trial::Proposal> draw(trial::Origin origin, std::size_t iteration = 0);
  /// Returns whether no random architecture is left.
  bool is_exhausted() const { return exhausted_; }
  bool attempts_exhausted() const { return pool_.attempts() >= last_attempt_; }
  std::size_t asked() const { return asked_; }
  /// Returns how many more may be proposed, by the results that are known.
  std::size_t places_left() const { return trials_ - asked_; }
  std::size_t in_flight() const { return in_flight_; }
  CandidatePool& pool() { return pool_; }
  const CandidatePool& pool() const { return pool_; }
  RandomStream& random() { return random_; }

 private:
  CandidatePool pool_;
  RandomStream random_;
  std::size_t trials_;            // how many may be proposed
  std::size_t last_attempt_ = 0;  // last attempt of this ask, counted by the pool
  std::size_t asked_ = 0;
  std::size_t in_flight_ = 0;
  bool exhausted_ = false;
  bool is_over_ = false;  // nothing came next, and no result is missing
};

}  // namespace skyline::search
