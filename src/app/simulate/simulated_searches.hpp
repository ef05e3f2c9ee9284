#pragma once

#include "skyline/core/random.hpp"
#include "skyline/search/searcher.hpp"

#include "core/backoff.hpp"
#include "core/text/wording.hpp"
#include "engine/dispatch/simulated_fleet.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skyline::app {

/// A searcher that proposes drawn architectures repeatedly. Its trials cost as much as those of a space, but
/// no network is built for them.
class DrawnSearch final : public search::Searcher {
 public:
  using Architectures = std::vector<std::shared_ptr<const space::Architecture>>;

  /// @param drawn       must outlive the searcher
  /// @param generation  number of trials whose results it waits for before it proposes the next ones;
  ///                    nullopt: it never waits
  DrawnSearch(const Architectures& drawn, trial::Budget budget, std::size_t trials,
              std::optional<std::size_t> generation, bool needs_results)
      : drawn_(drawn),
        budget_(budget),
        trials_(trials),
        generation_(generation),
        needs_results_(needs_results) {}

  search::Answer ask(std::size_t room) override {
    if (asked_ == told_) end_ = std::min(trials_, asked_ + generation_.value_or(trials_));
    const std::size_t end = generation_ ? end_ : trials_;
    std::vector<trial::Proposal> proposals;
    for (; asked_ < end && proposals.size() < room; ++asked_) {
      trial::Proposal& proposal = proposals.emplace_back();
      proposal.architecture = drawn_[derive_seed(0, "app.drawn_search", {asked_}) % drawn_.size()];
      proposal.origin = trial::Origin::kEnumerated;
      proposal.budget = budget_;
    }
    return {std::move(proposals)};
  }
  void tell(const trial::CommittedTrial& /*committed*/) override { ++told_; }
  bool needs_results() const override { return needs_results_; }
  std::optional<std::size_t> generation() const override { return generation_; }
  bool finished() const override { return asked_ == trials_; }
  std::string finish_reason() const override { return counted(trials_, "trial") + " done"; }
  std::size_t expected_trials() const override { return trials_; }

 private:
  const Architectures& drawn_;
  const trial::Budget budget_;
  const std::size_t trials_;
  const std::optional<std::size_t> generation_;
  const bool needs_results_;
  std::size_t asked_ = 0;
  std::size_t told_ = 0;
  std::size_t end_ = 0;  // end of the generation
};

/// A search that thinks about each proposal for a fixed simulated time, as if on its own thread. The time
/// that it really takes does not count, because results must be the same on any machine.
class ThinkingSearch final : public search::Searcher {
 public:
  /// Search and fleet must outlive the object.
  ThinkingSearch(search::Searcher& search, engine::SimulatedFleet& fleet, double seconds)
      : search_(search), fleet_(fleet), seconds_(seconds) {}

  search::Answer ask(std::size_t room) override {
    if (!thought_) {
      thought_ = answer(room);
      given_ = 0;
      ready_s_ = fleet_.now_s() + seconds_;
    }
    std::vector<trial::Proposal>& all = thought_->proposals;
    search::Answer part;
    for (; given_ < all.size() && ready_s_ <= fleet_.now_s(); ready_s_ += seconds_) {
      part.proposals.push_back(std::move(all[given_++]));
    }
    if (given_ < all.size()) {
      part.state = search::Answer::State::kBusy;
      fleet_.wake_at(ready_s_);
    } else {
      part.state = std::exchange(thought_, std::nullopt)->state;
    }
    return part;
  }
  void tell(const trial::CommittedTrial& committed) override { search_.tell(committed); }
  void stop() override { search_.stop(); }
  bool may_continue(trial::TrialNumber number) const override { return search_.may_continue(number); }
  bool needs_results() const override { return search_.needs_results(); }
  bool finished() const override { return search_.finished(); }
  std::string finish_reason() const override { return search_.finish_reason(); }
  std::size_t expected_trials() const override { return search_.expected_trials(); }

 private:
  search::Answer answer(std::size_t room) {
    Backoff backoff;
    search::Answer answer = search_.ask(room);
    for (; answer.state == search::Answer::State::kBusy && answer.proposals.empty();
         answer = search_.ask(room)) {
      backoff.pause();
    }
    return answer;
  }

  search::Searcher& search_;
  engine::SimulatedFleet& fleet_;
  const double seconds_;
  std::optional<search::Answer> thought_;  // answer whose proposals are returned one by one
  std::size_t given_ = 0;                  // number of its proposals that were returned
  double ready_s_ = 0;                     // simulated time of the next proposal
};

}  // namespace skyline::app
