#pragma once

#include "skyline/core/random.hpp"
#include "skyline/search/searcher.hpp"

#include "core/text/wording.hpp"

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

}  // namespace skyline::app
