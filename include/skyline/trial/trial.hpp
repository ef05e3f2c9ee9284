#pragma once

#include "skyline/space/search_space.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace skyline::trial {

/// Number of an evaluation of the run, in the order of asking, from 0.
using TrialNumber = std::uint64_t;

/// kSearch: proposed by the searcher, partial budget. kFinal: full training of a front member.
enum class Phase : std::uint8_t { kSearch, kFinal };

/// How a proposal came about.
enum class Origin : std::uint8_t { kInitial, kMutation, kCrossover, kRandom, kEnumerated, kFront };
std::string_view to_text(Phase phase);
std::string_view to_text(Origin origin);
/// @throws UserError for another text
Phase parse_phase(std::string_view text);
Origin parse_origin(std::string_view text);

/// What a searcher asks for: everything but the number, which the engine gives.
struct Proposal {
  std::shared_ptr<const space::Architecture> architecture;
  Origin origin = Origin::kInitial;
  std::vector<TrialNumber> parents;  // committed trials; empty, one (mutation) or two (crossover)
  std::uint32_t iteration = 0;       // of the algorithm, from 0
};

/// Whose trained weights a trial starts from: a parent's, as far as layers match.
struct Inheritance {
  TrialNumber from = 0;                                     // a committed search trial
  std::shared_ptr<const space::Architecture> architecture;  // of that trial
  double share = 0;          // of the trial's trainable parameters that the parent's weights fill, 0 to 1
  std::int32_t holder = -1;  // the rank that may still have them in memory; no part of the definition
};

/// Evaluation number `number` of the run. Complete: any rank can evaluate it, with the same result.
struct Trial {
  TrialNumber number = 0;
  Phase phase = Phase::kSearch;
  Proposal proposal;
  double epochs = 0;                                 // budget; may be a fraction
  std::uint64_t seed = 0;                            // of run seed, arch id and budget alone
  std::shared_ptr<const Inheritance> inherits = {};  // nullptr: fresh initial values
  std::uint32_t members = 1;                         // of the group that trains it; part of its definition
  const space::Architecture& architecture() const { return *proposal.architecture; }
};

enum class FailureKind : std::uint8_t { kDiverged, kOutOfMemory, kException, kInfeasible, kStopped };
std::string_view to_text(FailureKind kind);
FailureKind parse_failure_kind(std::string_view text);

struct Failure {
  FailureKind kind = FailureKind::kException;
  std::string reason;  // one line
};

/// Measured values, in the order of Evaluator::metrics(); NaN where a metric was not measured.
struct Measurements {
  std::vector<double> values;
};

/// A failure is a value, never a front member.
using Outcome = std::variant<Measurements, Failure>;

/// Where the seconds of a trial went, and where it ran. Never part of the canonical journal.
struct TrialTiming {
  std::int32_t rank = 0;
  std::int32_t slot = 0;  // within the rank
  double started_s = 0;   // since the start of the run (this process' clock, aligned at start-up)
  double setup_s = 0;     // everything but training steps, validation and latency measurement
  double train_s = 0;
  double validate_s = 0;
  double latency_s = 0;  // spent in measuring latency
  double wait_s = 0;     // before it could begin, for a turn on its device: idle, not recorded
  double total_s() const { return setup_s + train_s + validate_s + latency_s; }
};

/// A trial with its result, committed in the order of numbers.
struct CommittedTrial {
  Trial trial;
  Outcome outcome;
  TrialTiming timing;
};

}  // namespace skyline::trial
