#pragma once

#include "skyline/space/search_space.hpp"
#include "skyline/trial/trial.hpp"

#include "store/journal/journal.hpp"
#include "support/yaml_config.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace skyline::testing {

/// A small space whose parameters have every type of value.
inline space::SearchSpace sample_space(const std::string& depths = "[1, 3]") {
  const std::string text =
      "parameters:\n"
      "  depth: {range: " +
      depths +
      "}\n"
      "  width: {choice: [4, 8, 16]}\n"
      "  bias: {choice: [true, false]}\n"
      "  padding: {choice: [same, 1]}\n"
      "  epsilon: {choice: [0.1, 0.2, 1.0e-300]}\n"
      "network:\n"
      "  - repeat: $depth\n"
      "    body:\n"
      "      - conv2d: {channels: $width, kernel: 3, padding: $padding, bias: $bias}\n"
      "      - batch_norm: {epsilon: $epsilon}\n"
      "      - relu\n"
      "  - global_average_pool\n"
      "  - linear: {features: $classes}\n";
  return space::SearchSpace::parse(config_from_yaml(text, "space.yaml", "space"), {{1, 8, 8}, 10});
}

inline store::JournalHeader sample_header() {
  return {.skyline_version = "0.1.0",
          .config_hash = std::string(64, 'c'),
          .seed = 0xfedcba9876543210u,
          .metrics = {"validation_accuracy", "latency_ms"}};
}

inline void make_full_training(trial::Trial& trial, const trial::Trial& trained) {
  trial.number = trained.number;
  trial.proposal.architecture = trained.proposal.architecture;
  trial.proposal.origin = trial::Origin::kFront;
  trial.proposal.trains = trained.number;
}

inline void make_heir(trial::Trial& trial, const trial::Trial& parent, double share) {
  trial.proposal.start = trial::Inherit{parent.number, parent.proposal.architecture, share};
}

inline void make_continuation(trial::Trial& trial, const trial::Trial& earlier) {
  trial.proposal.architecture = earlier.proposal.architecture;
  trial::Continue start{earlier.number};
  if (earlier.inherits() != nullptr) start.began = *earlier.inherits();
  trial.proposal.start = start;
}

/// The trials as JournalWriter::append takes them.
inline std::vector<trial::SharedTrial> shared(const std::vector<trial::CommittedTrial>& trials) {
  std::vector<trial::SharedTrial> pointers;
  for (const trial::CommittedTrial& trial : trials) {
    pointers.push_back(std::make_shared<const trial::CommittedTrial>(trial));
  }
  return pointers;
}

/// Trials with values that are hard to write: denormal, huge, negative zero, NaN, infinite; control
/// characters. Every fifth is the full training of the trial before it.
inline std::vector<trial::CommittedTrial> sample_trials(const space::SearchSpace& space, std::size_t count) {
  const std::vector<double> values = {0.1,
                                      1.0 / 3,
                                      5e-324,
                                      1.7976931348623157e308,
                                      -0.0,
                                      std::nan(""),
                                      100000,
                                      1e22,
                                      std::numeric_limits<double>::infinity()};
  RandomStream random(7);
  std::vector<trial::CommittedTrial> trials;
  for (std::size_t k = 0; k < count; ++k) {
    trial::CommittedTrial committed;
    committed.position = k;
    if (k % 5 == 4) {
      make_full_training(committed.trial, trials[k - 1].trial);
    } else {
      committed.trial.number = k - k / 5;
      committed.trial.proposal.architecture =
          std::make_shared<const space::Architecture>(space.build(space.sample(random)));
      committed.trial.proposal.origin = k == 0 ? trial::Origin::kInitial : trial::Origin::kCrossover;
      if (k > 1) committed.trial.proposal.parents = {trials[k - 1].trial.number, trials[k / 2].trial.number};
      if (k % 3 == 2) make_heir(committed.trial, trials[k / 2].trial, 1.0 / static_cast<double>(k));
      if (k % 7 == 6) make_continuation(committed.trial, trials[k - 1].trial);
    }
    committed.trial.proposal.iteration = static_cast<std::uint32_t>(k / 3);
    committed.trial.proposal.budget.epochs = 0.1 + static_cast<double>(k);
    committed.trial.proposal.horizon.epochs =
        k % 2 == 0 ? 3.0 * static_cast<double>(k) : 0.1 + static_cast<double>(k);
    committed.trial.seed = random.next();
    committed.trial.members = k % 4 == 2 ? 3 : 1;
    committed.trial.cost = 1'000'000 + k;
    if (k % 4 == 3) {
      committed.outcome = trial::Failure{trial::FailureKind::kDiverged, "loss \"NaN\"\nat step 3, µ = 2"};
    } else {
      committed.outcome = trial::Measurements{{values[k % values.size()], random.uniform()}};
    }
    committed.timing = {
        static_cast<std::int32_t>(k % 3), 1, random.uniform(), 0.001, random.uniform(), 0.5, 0};
    trials.push_back(committed);
  }
  return trials;
}

/// Equal in every bit; NaN equals NaN.
inline bool same_number(double left, double right) {
  return (std::isnan(left) && std::isnan(right)) ||
         (left == right && std::signbit(left) == std::signbit(right));
}

inline bool same_outcome(const trial::Outcome& left, const trial::Outcome& right) {
  if (left.index() != right.index()) return false;
  if (const auto* failure = std::get_if<trial::Failure>(&left)) {
    const auto& other = std::get<trial::Failure>(right);
    return failure->kind == other.kind && failure->reason == other.reason;
  }
  const auto& a = std::get<trial::Measurements>(left).values;
  const auto& b = std::get<trial::Measurements>(right).values;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_number);
}

inline bool same_timing(const trial::TrialTiming& s, const trial::TrialTiming& t) {
  return s.rank == t.rank && s.slot == t.slot && same_number(s.started_s, t.started_s) &&
         same_number(s.setup_s, t.setup_s) && same_number(s.train_s, t.train_s) &&
         same_number(s.validate_s, t.validate_s) && same_number(s.latency_s, t.latency_s) &&
         same_number(s.wait_files_s, t.wait_files_s) && same_number(s.wait_ranks_s, t.wait_ranks_s);
}

inline bool same_inheritance(const trial::Trial& left, const trial::Trial& right) {
  if (!left.inherits() || !right.inherits()) return left.inherits() == right.inherits();
  return left.inherits()->from == right.inherits()->from &&
         left.inherits()->share == right.inherits()->share &&
         left.inherits()->architecture->id == right.inherits()->architecture->id;
}

inline bool same_continuation(const trial::Trial& left, const trial::Trial& right) {
  if (!left.continues() || !right.continues()) return left.continues() == right.continues();
  return left.continues()->from == right.continues()->from;
}

inline bool same_trial(const trial::CommittedTrial& left, const trial::CommittedTrial& right) {
  const trial::Trial& a = left.trial;
  const trial::Trial& b = right.trial;
  return a.number == b.number && a.phase() == b.phase() && a.proposal.origin == b.proposal.origin &&
         a.proposal.parents == b.proposal.parents && a.proposal.iteration == b.proposal.iteration &&
         a.architecture().id == b.architecture().id &&
         a.architecture().genotype == b.architecture().genotype &&
         same_number(a.budget().epochs, b.budget().epochs) &&
         same_number(a.proposal.horizon.epochs, b.proposal.horizon.epochs) && a.seed == b.seed &&
         a.members == b.members && a.cost == b.cost && same_inheritance(a, b) && same_continuation(a, b) &&
         same_outcome(left.outcome, right.outcome) && same_timing(left.timing, right.timing);
}

}  // namespace skyline::testing
