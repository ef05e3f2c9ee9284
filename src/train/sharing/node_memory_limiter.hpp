#pragma once

#include "skyline/trial/evaluator.hpp"
#include "skyline/trial/trial.hpp"

#include "train/options/training_options.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace skyline::evaluate {
class Ranks;
}
namespace skyline::machine {
class NodeSemaphore;
}

namespace skyline::train {

/// Largest memory of a rank without trials: program, libraries, caches.
constexpr std::uint64_t kRestingBytes = std::uint64_t{128} << 20;

/// The memory of a node in which the trials of its ranks train on processors. Each slot has an equal share. A
/// trial that is expected to need more takes several shares, and waits until they are free. A trial that
/// needs more than a node has for one trial fails before its first step.
class NodeMemoryLimiter {
 public:
  struct Plan {
    std::uint64_t most_bytes = 0;  // limit of one trial alone on a node: the same on all ranks
    std::uint64_t node_bytes = 0;  // limit of all trials of this node together
  };

  /// @param tokens  one for each slot of the node
  NodeMemoryLimiter(const Plan& plan, std::unique_ptr<machine::NodeSemaphore> tokens);
  ~NodeMemoryLimiter();

  /// Returns the bytes of this node for each slot.
  std::uint64_t share() const;

  /// Trains when there is room. Members of a group are not held back, so that no two groups wait for each
  /// other. The wait is reported as waiting time.
  trial::Outcome train(const trial::Trial& trial, const TrainingOptions& options,
                       trial::EvaluationContext& context,
                       const std::function<trial::Outcome()>& attempt) const;

 private:
  Plan plan_;
  std::unique_ptr<machine::NodeSemaphore> tokens_;
};

/// Shares the memory of the nodes among slots. Collective.
/// @param node, slots  numbers of this rank
/// @param given  bytes of each node for the run; if not given, 90 % of the memory of the smallest node
/// @throws UserError if that is less than a rank needs without trials, FaultError if this process may not map
/// so much
std::unique_ptr<NodeMemoryLimiter> share_node_memory(evaluate::Ranks& ranks, int node, std::size_t slots,
                                                     std::optional<std::uint64_t> given);

}  // namespace skyline::train
