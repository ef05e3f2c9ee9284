#pragma once

#include "skyline/search/searcher.hpp"

#include "engine/engine_rig.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace skyline::engine {

/// Successive halving, for tests: a generation of new architectures begins with the smallest budget, and the
/// better half of a generation goes on to the next one. Architectures of later generations have the best of
/// the earlier ones as their parent.
class Rungs final : public search::Searcher {
 public:
  struct Options {
    std::vector<double> budgets{1, 2, 4};  // the last is the horizon
    std::size_t generations = 2;           // that bring new architectures
    std::size_t new_ones = 4;              // of each
    bool continues_failed = false;         // in place of a better one
    std::size_t played = 100;              // generations; a longer run would continue from there
  };
  explicit Rungs(Options options) : options_(std::move(options)) { begin_generation(); }

  std::vector<trial::Proposal> ask(std::size_t room) override {
    const std::size_t count = std::min(room, next_.size());
    const auto end = next_.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<trial::Proposal> asked(next_.begin(), end);
    next_.erase(next_.begin(), end);
    in_flight_ += asked.size();
    for (const trial::Proposal& proposal : asked) {
      if (const auto* earlier = std::get_if<trial::Continue>(&proposal.start)) open_.erase(earlier->from);
    }
    return asked;
  }

  void tell(const trial::CommittedTrial& committed) override {
    told_.push_back(committed);
    open_.insert(committed.trial.number);
    if (--in_flight_ == 0 && next_.empty()) begin_generation();
  }

  bool may_continue(trial::TrialNumber number) const override { return open_.contains(number); }
  bool finished() const override { return next_.empty() && in_flight_ == 0; }
  std::string finish_reason() const override { return "no rung is left"; }
  std::size_t expected_trials() const override { return 4 * options_.generations * options_.new_ones; }

 private:
  static double value_of(const trial::CommittedTrial& committed) {
    const auto* measured = std::get_if<trial::Measurements>(&committed.outcome);
    return measured == nullptr ? -1 : measured->values[0];
  }

  void begin_generation() {
    std::ranges::stable_sort(told_, [&](const auto& left, const auto& right) {
      const double worst = options_.continues_failed ? -1 : 1;
      return worst * value_of(left) > worst * value_of(right);
    });
    open_.clear();
    for (std::size_t i = 0; i < (told_.size() + 1) / 2; ++i) promote(told_[i]);
    for (std::size_t i = 0; i < options_.new_ones && generation_ < options_.generations; ++i) add_new(i);
    if (generation_ >= options_.played) next_.clear();
    ++generation_;
    told_.clear();
  }

  void promote(const trial::CommittedTrial& committed) {
    const trial::Trial& earlier = committed.trial;
    const auto larger = std::ranges::upper_bound(options_.budgets, earlier.budget().epochs);
    const bool failed = std::holds_alternative<trial::Failure>(committed.outcome);
    if (larger == options_.budgets.end() || (failed && !options_.continues_failed)) return;
    trial::Proposal proposal = earlier.proposal;
    proposal.iteration = static_cast<std::uint32_t>(generation_);
    proposal.budget = {*larger};
    proposal.start = trial::Continue{earlier.number};
    open_.insert(earlier.number);
    next_.push_back(std::move(proposal));
  }

  void add_new(std::size_t i) {
    const auto genotype = static_cast<std::int64_t>((generation_ * options_.new_ones + i) * 7 % 32);
    trial::Proposal proposal;
    proposal.architecture =
        std::make_shared<const space::Architecture>(test_space().build(test_space().genotype_at(genotype)));
    proposal.iteration = static_cast<std::uint32_t>(generation_);
    proposal.budget = {options_.budgets.front()};
    proposal.horizon = {options_.budgets.back()};
    if (!told_.empty()) proposal.parents = {told_.front().trial.number};
    next_.push_back(std::move(proposal));
  }

  const Options options_;
  std::size_t generation_ = 0;
  std::size_t in_flight_ = 0;
  std::vector<trial::CommittedTrial> told_;  // of this generation
  std::set<trial::TrialNumber> open_;        // that may be continued
  std::vector<trial::Proposal> next_;
};

/// A run of Rungs in which a trial does so many steps an epoch.
inline RunSpec rungs_spec(const Rungs::Options& options = {}) {
  RunSpec spec = evolution_spec();
  spec.searcher = [options] { return std::make_unique<Rungs>(options); };
  spec.steps_by_budget = true;
  return spec;
}

}  // namespace skyline::engine
