#pragma once

#include "skyline/space/search_space.hpp"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace skyline::trial {

/// Number of a search trial, in the order of proposals, from 0. A full training has the number of the trial
/// that it trains.
using TrialNumber = std::uint64_t;

/// Place of a commit among the commits of a run, from 0: its line of the journal, after the header.
using CommitPosition = std::uint64_t;

/// The name of a trial in a run: its number, and whether it is a full training of the trial of that number.
/// A run that is extended with another final budget trains a front member again, with the same names.
struct TrialName {
  TrialNumber number = 0;
  bool is_final = false;
  std::uint32_t repeat = 0;  // Proposal::final_repeat
  auto operator<=>(const TrialName&) const = default;
};
/// Returns "17", or "17.final" for the full training of trial 17, or "17.final.2" for its second repeat.
std::string to_text(TrialName name);

/// kSearch: proposed by the search algorithm. kFinal: full training of a front member.
enum class Phase : std::uint8_t { kSearch, kFinal };

std::string_view to_text(Phase phase);
/// Reads the text of to_text. @throws UserError for another text
Phase parse_phase(std::string_view text);

/// The way in which a proposal came about, as one short word for journals, tables and reports. An algorithm
/// of your own may use a word of its own.
class Origin {
 public:
  static constexpr std::size_t kMostCharacters = 24;
  static const Origin kInitial;
  static const Origin kMutation;
  static const Origin kCrossover;
  static const Origin kRandom;
  static const Origin kEnumerated;
  static const Origin kFront;

  /// Makes the word "initial".
  constexpr Origin() : Origin("initial") {}
  /// @throws UserError unless the word has 1 to kMostCharacters of a-z, 0-9, _ and -
  constexpr explicit Origin(std::string_view word) {
    constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789_-";
    if (word.empty() || word.size() > kMostCharacters ||
        word.find_first_not_of(kCharacters) != std::string_view::npos) {
      refuse(word);
    }
    word.copy(word_.data(), word.size());
  }
  std::string_view text() const { return word_.data(); }
  auto operator<=>(const Origin&) const = default;

 private:
  [[noreturn]] static void refuse(std::string_view word);

  std::array<char, kMostCharacters + 1> word_{};  // text that ends with 0
};
inline constexpr Origin Origin::kInitial{"initial"};
inline constexpr Origin Origin::kMutation{"mutation"};
inline constexpr Origin Origin::kCrossover{"crossover"};
inline constexpr Origin Origin::kRandom{"random"};
inline constexpr Origin Origin::kEnumerated{"enumerated"};
inline constexpr Origin Origin::kFront{"front"};

/// The limit of a trial's cost.
struct Budget {
  double epochs = 1;  // epochs, or another unit of the evaluator; may be a fraction
  bool operator==(const Budget&) const = default;
};

/// A start from fresh initial values.
struct Fresh {
  bool operator==(const Fresh&) const = default;
};

/// A start from the trained weights of a parent, as far as layers match.
struct Inherit {
  TrialNumber from = 0;                                     // number of a committed search trial
  std::shared_ptr<const space::Architecture> architecture;  // architecture of that trial
  double share = 0;  // share of the trial's trainable parameters that the parent's weights fill, 0 to 1
  std::int32_t holder = -1;  // rank that may still have them in memory; not a part of the definition
  bool operator==(const Inherit& other) const { return from == other.from && share == other.share; }
};

/// A start that continues the training of an earlier trial, of the same architecture and horizon, with a
/// larger budget. The result is the same as with this budget from the start. The engine fills in all except
/// `from`.
struct Continue {
  TrialNumber from = 0;               // number of a committed search trial
  double epochs = 0;                  // budget of that trial
  std::optional<Inherit> began = {};  // weights with which the training began; no value if it began fresh
  std::int32_t holder = -1;           // rank of this job that trained it; -1 if an earlier job did
  bool operator==(const Continue& other) const { return from == other.from && began == other.began; }
};

using Start = std::variant<Fresh, Inherit, Continue>;

/// Returns the weights with which a training begins, or began if it is continued, or nullptr for a fresh
/// start.
template <typename AnyStart>  // Start, constant or not
auto* inherit_of(AnyStart& start) {
  auto* earlier = std::get_if<Continue>(&start);
  return earlier != nullptr && earlier->began ? &*earlier->began : std::get_if<Inherit>(&start);
}

/// What a searcher's model expects a trial to measure, of the first objective that is measured: a value, and
/// the ends of one standard deviation.
struct Expected {
  double low = 0;
  double value = 0;
  double high = 0;
  bool operator==(const Expected&) const = default;
};

/// Most parents of a proposal; bounds messages between ranks.
inline constexpr std::size_t kMostParents = 16;

/// A request of a searcher: everything about a trial that the engine does not add.
struct Proposal {
  std::shared_ptr<const space::Architecture> architecture;
  Origin origin = {};
  std::vector<TrialNumber> parents;  // committed trials, at most kMostParents
  std::uint32_t iteration = 0;       // iteration of the algorithm, from 0
  Budget budget = {};
  /// The largest budget to which a later proposal may continue the training; schedules run over it. If it is
  /// less than the budget, the budget counts. A proposal that continues a trial gets that trial's horizon.
  Budget horizon = {0};
  Start start = {};
  /// Trials of one architecture and horizon that differ only in this are repetitions, each with its own seed.
  /// A proposal that continues a trial gets that trial's repeat.
  std::uint32_t repeat = 0;
  std::optional<TrialNumber> trains = {};  // trial that a full training trains
  /// Full trainings of a trial differ only in this, and in the seed that follows from it. The first one, 0,
  /// stands for the model: its weights are kept.
  std::uint32_t final_repeat = 0;
  /// Prediction shown to readers of the run; no part of the trial's definition.
  std::optional<Expected> expected = {};
};

/// Most declared steps of `search.pruning`; bounds messages between ranks and lines of journals.
inline constexpr std::size_t kMostDeclaredSteps = 16;

/// The results with which a trial is compared after a declared step (`search.pruning`). A trial that one of
/// them dominates is pruned there.
struct PruningBar {
  std::int64_t step = 0;
  /// Row-major [points x compared objectives], every column minimized; empty if too few results are known.
  std::vector<double> points;
};

/// An evaluation in a run. It is complete: any rank can evaluate it, with the same result.
struct Trial {
  TrialNumber number = 0;
  Proposal proposal;
  std::uint64_t seed = 0;     // depends only on the run's seed, arch id, horizon and repeats
  std::uint32_t members = 1;  // members of the group that trains it; a part of its definition
  std::uint64_t cost = 0;     // Evaluator::predicted_cost in whole units; commits by virtual time use it
  /// One for each declared step, ascending; empty if the trial is never pruned. They follow from the results
  /// that the searcher was told when it proposed the trial, so no file has them.
  std::vector<PruningBar> bars = {};

  bool is_final() const { return proposal.trains.has_value(); }
  Phase phase() const { return is_final() ? Phase::kFinal : Phase::kSearch; }
  TrialName name() const { return {number, is_final(), proposal.final_repeat}; }
  const space::Architecture& architecture() const { return *proposal.architecture; }
  const Budget& budget() const { return proposal.budget; }
  const Budget& horizon() const {
    return proposal.horizon.epochs > budget().epochs ? proposal.horizon : proposal.budget;
  }
  /// Returns whether a later trial may continue it; its last state must then be kept.
  bool may_be_continued() const { return !is_final() && horizon().epochs > budget().epochs; }
  /// Returns nullptr if the trial does not continue another one.
  const Continue* continues() const { return std::get_if<Continue>(&proposal.start); }
  /// Returns nullptr if the training begins, or began, fresh.
  const Inherit* inherits() const { return inherit_of(proposal.start); }
};

/// kProgram: a user's own program failed by itself, as it would at each try. The last two are no results,
/// like kStopped, and in no journal: the trial is tried again. kStorage: the storage of a host failed it.
/// kFilledStorage: it met a full disk of which it had most for itself; it is tried again while no other trial
/// trains, and if it is so once more, that is a kProgram.
enum class FailureKind : std::uint8_t {
  kDiverged,
  kOutOfMemory,
  kException,
  kStopped,
  kProgram,
  kStorage,
  kFilledStorage
};
std::string_view to_text(FailureKind kind);
FailureKind parse_failure_kind(std::string_view text);

struct Failure {
  FailureKind kind = FailureKind::kException;
  std::string reason;  // one line of text

  bool is_of_storage() const { return kind == FailureKind::kStorage || kind == FailureKind::kFilledStorage; }
};

/// The values that a trial reported after a declared step (`search.pruning`), in the order of
/// EvaluatorKind::metrics; NaN if a metric was not among them.
struct StepValues {
  std::int64_t step = 0;
  std::vector<double> values;
};

/// How far a trial with values was trained. Only whole ones are ever on a front. kPruned: it ended early,
/// because it was far behind others; it counts as a trial. kOutside: nothing was trained, because a program
/// that was asked before measured what a constraint forbids.
enum class Extent : std::uint8_t { kWhole, kPruned, kOutside };

/// Measured values, in the order of EvaluatorKind::metrics; NaN if a metric was not measured.
struct Measurements {
  /// A pruned trial has the values of the last of `steps`, which the engine fills in. One that is
  /// outside has what was asked before.
  std::vector<double> values;
  std::vector<StepValues> steps =
      {};  // the declared steps that were reported, ascending; the engine adds them
  Extent extent = Extent::kWhole;
  std::string reason = {};  // why the trial is outside, in one line
};

/// The outcome of a trial. A failure is a value; a failed trial is never on the front.
using Outcome = std::variant<Measurements, Failure>;
/// Returns whether a trial has values, and was trained so far.
inline bool has_extent(const Outcome& outcome, Extent extent) {
  const auto* measured = std::get_if<Measurements>(&outcome);
  return measured != nullptr && measured->extent == extent;
}
inline bool is_outside(const Outcome& outcome) {
  return has_extent(outcome, Extent::kOutside);
}
inline bool is_whole(const Outcome& outcome) {
  return has_extent(outcome, Extent::kWhole);
}
/// The status of a trial with values, by its extent.
inline constexpr std::array<std::string_view, 3> kExtents{"ok", "pruned", "outside"};
/// Returns one of them, or the kind of the failure.
std::string_view status_of(const Outcome& outcome);
/// Returns why a trial failed or is outside, in one line; empty for others.
std::string reason_of(const Outcome& outcome);

/// Times of a trial, and the place where it ran. They are never part of the canonical journal.
struct TrialTiming {
  std::int32_t rank = 0;
  std::int32_t slot = 0;  // number within the rank
  double started_s = 0;   // since the start of the run (this process' clock, aligned at the start of the job)
  double setup_s = 0;     // all time that is none of the following
  double train_s = 0;     // training steps
  double validate_s = 0;  // validation and test
  double latency_s = 0;   // measuring latency
  double wait_files_s = 0;     // waiting for checkpoints and inherited weights to be read or taken over
  double wait_ranks_s = 0;     // waiting for other members of its group, and for weights from another rank
  std::int64_t any_order = 0;  // 1 if cuDNN might add in any order, so that the result may not repeat
  // Not recorded, since the trial has not begun then:
  double wait_device_s = 0;   // waiting for its turn on the device, for memory, or for resources of a user's
                              // evaluator
  double wait_hand_in_s = 0;  // waiting until storage had taken the files of the slot's last trial
  double total_s() const { return setup_s + train_s + validate_s + latency_s + wait_files_s + wait_ranks_s; }
  double waited_s() const { return wait_files_s + wait_ranks_s + wait_device_s; }
};

/// A trial with its result. `position` is valid once it is committed.
struct CommittedTrial {
  Trial trial;
  Outcome outcome;
  TrialTiming timing;
  CommitPosition position = 0;
};

}  // namespace skyline::trial

template <>
struct std::hash<skyline::trial::TrialName> {
  std::size_t operator()(skyline::trial::TrialName name) const noexcept {
    return (name.number << 1U | (name.is_final ? 1U : 0U)) ^ std::size_t{name.repeat} << 40U;
  }
};
