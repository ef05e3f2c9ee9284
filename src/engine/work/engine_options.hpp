#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace skyline::engine {

enum class KeepWeights { kNone, kFront, kAll };

/// How trials and results travel between ranks. kAuto means point to point if there is a window and the
/// launcher lets survivors of a lost rank live, otherwise collective operations.
enum class DispatchKind { kAuto, kCollective, kPointToPoint };

/// Says when half-trained trials are saved. The first interval that has passed counts.
struct CheckpointOptions {
  std::optional<double> interval_s = 60;  // time since the trial's start or its last checkpoint
  std::optional<double> interval_epochs;  // epochs since then
  /// Largest share of the time that a slot spends on copying its state; the interval grows accordingly.
  double most_overhead = 0.005;
};

/// A number of trials, or a multiple of the virtual slots.
struct Window {
  Window(double its_size = 1, bool is_multiple = false) : size(its_size), of_slots(is_multiple) {}
  double size;
  bool of_slots;
};

/// The order of commits: that of asking, or the one in which virtual slots would end the trials.
enum class CommitBy { kNumber, kVirtualTime };

struct EngineOptions {
  std::uint64_t seed = 1;
  /// Most trials that are asked for and not committed; without a value a generation at a time.
  std::optional<Window> window;
  CommitBy commit = CommitBy::kNumber;
  /// Slots of the clock for commits by virtual time, which are not possible without it.
  std::optional<std::size_t> virtual_slots;
  DispatchKind dispatch = DispatchKind::kAuto;
  /// A rank that is silent for so long is lost.
  double lost_after_s = 30;
  /// A trial that has trained for this long is stopped, and tried once more on another rank.
  std::optional<double> trial_timeout_s;
  /// If the first commits of a search, so many, all failed, it ends there. Without a value it continues.
  std::optional<std::size_t> most_failures = 20;
  KeepWeights keep_weights = KeepWeights::kFront;  // kNone also if trials leave nothing
  // no value: no checkpoints, not even at a stop
  std::optional<CheckpointOptions> checkpoints = CheckpointOptions{};
  bool inherit = false;  // children start from what a parent left; needs keep_weights
  bool folders = false;  // trials have folders, which children inherit in place of weights
  /// Most bytes of weights that a rank keeps in memory for children of its own trials, if they inherit.
  std::size_t recent_weights_bytes = std::size_t{256} << 20;
  bool resume = false;  // an earlier job may have left checkpoints
  /// The file in which the system counts what its OOM killer ended on this node; empty if unknown.
  std::filesystem::path oom_kills;
  bool coordinator_only = false;  // rank 0 does not train; needs 2 ranks
  /// Slots of a rank. Without a value, the evaluator's, else processors / threads_per_slot, at least 1.
  std::optional<std::size_t> slots;
  int threads_per_slot = 1;
  /// Threads on which the search thinks. Without a value, see think_threads().
  std::optional<std::size_t> think_threads;
  /// Processors that the control groups grant this process; no value for no limit.
  std::optional<double> processor_quota;
  /// The evaluator's keys, for messages (EvaluatorKind).
  std::string inherit_key = {};
  std::string members_key = {};

  /// Returns the window in trials, or nullopt for a generation at a time.
  std::optional<std::size_t> window_trials() const {
    if (!window) return std::nullopt;
    const double unit = window->of_slots ? static_cast<double>(virtual_slots.value()) : 1;
    return static_cast<std::size_t>(std::ceil(window->size * unit));
  }
};

}  // namespace skyline::engine
