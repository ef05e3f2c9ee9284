#include "train/sharing/node_memory_limiter.hpp"

#include "skyline/core/error.hpp"

#include "core/text/hash.hpp"
#include "evaluate/job_ranks.hpp"
#include "machine/node.hpp"
#include "machine/node_semaphore.hpp"
#include "train/sharing/memory_forecast.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skyline::train {
namespace {

using trial::Failure;
using trial::FailureKind;

constexpr double kUsedShare =
    0.9;  // share of a node's memory; the rest is for the system and the forecast's errors

/// The facts that each rank tells the others.
struct RankShare {
  int node = 0;
  std::uint64_t slots = 0;
  std::uint64_t bytes = 0;      // memory of the node
  std::uint64_t addresses = 0;  // address space that this process may map for trials
};

std::string mebibytes(std::uint64_t bytes) {
  return std::to_string((bytes + (1U << 20) - 1) >> 20) + " MiB";
}

std::uint64_t bytes_of_machine() {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const std::uint64_t all = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return std::min(all, machine::read_node_limits("/").memory_bytes.value_or(all));
}

/// Returns what this process may map for trials, rounded down so that equal jobs have equal limits.
/// oneDNN writes through a null pointer where nothing more can be mapped, so this is generous.
/// @throws FaultError if a trial would have less than the smallest step
std::uint64_t addresses_for_trials(std::size_t slots) {
  constexpr std::uint64_t kStep = std::uint64_t{64} << 20;
  constexpr std::uint64_t kOfSlot = std::uint64_t{80}
                                    << 20;  // stacks, and 64 MiB that malloc reserves a thread
  const std::optional<std::uint64_t> free = machine::read_node_limits("/").free_address_bytes;
  if (!free) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t resting = kRestingBytes + slots * kOfSlot;
  if (*free < resting + kStep) {
    throw FaultError("this process may map " + mebibytes(*free) + " more (ulimit -v, h_vmem), and needs " +
                     mebibytes(resting + kStep) + ": ask for more, or take fewer --slots");
  }
  return (*free - resting) / kStep * kStep;
}

/// Returns the failure. Its reason is part of the result, so it is the same for any number of ranks.
Failure too_large(const trial::Trial& trial, const TrainingOptions& options, std::uint64_t needed,
                  std::uint64_t most) {
  return {FailureKind::kOutOfMemory, "not enough memory: " + mebibytes(needed) + " expected for " +
                                         std::to_string(trial.architecture().cost.parameters) +
                                         " parameters and a batch of " + batch_text(options) +
                                         ", a trial may take " + mebibytes(most)};
}

/// Opens the tokens. Collective. @throws UserError on all ranks
std::unique_ptr<machine::NodeSemaphore> open_tokens(evaluate::Ranks& ranks, std::size_t tokens,
                                                    std::size_t holders) {
  const std::string name = ranks.exchange("skyline-memory-" + to_hex(random_token())).front();
  std::unique_ptr<machine::NodeSemaphore> opened;
  std::string problem;
  try {
    opened = std::make_unique<machine::NodeSemaphore>(name, tokens, holders);
  } catch (const UserError& error) {
    problem = error.what();
  }
  // after this, all ranks have opened theirs, or none has
  const std::vector<std::string> problems = ranks.exchange(problem);
  if (opened != nullptr) opened->remove_name();
  for (const std::string& each : problems) {
    if (!each.empty()) throw UserError(each);
  }
  return opened;
}

}  // namespace

NodeMemoryLimiter::NodeMemoryLimiter(const Plan& plan, std::unique_ptr<machine::NodeSemaphore> tokens)
    : plan_(plan), tokens_(std::move(tokens)) {}

NodeMemoryLimiter::~NodeMemoryLimiter() = default;

std::uint64_t NodeMemoryLimiter::share() const {
  return std::max<std::uint64_t>(1, plan_.node_bytes / tokens_->tokens());
}

trial::Outcome NodeMemoryLimiter::train(const trial::Trial& trial, const TrainingOptions& options,
                                        trial::EvaluationContext& context,
                                        const std::function<trial::Outcome()>& attempt) const {
  const std::uint64_t needed = predict_host_bytes(trial.architecture().network(), options, trial.members);
  if (needed > plan_.most_bytes) return too_large(trial, options, needed, plan_.most_bytes);
  if (context.group() != nullptr) return attempt();
  const auto acquire = [&] {
    const trial::TrialWait wait(context);
    return tokens_->acquire((needed + share() - 1) / share(),
                            [&] { return context.control().stop_requested(); });
  };
  const auto hold = acquire();
  if (!hold) return Failure{FailureKind::kStopped, "stopped on request while it waited for memory"};
  return attempt();
}

std::unique_ptr<NodeMemoryLimiter> share_node_memory(evaluate::Ranks& ranks, int node, std::size_t slots,
                                                     std::optional<std::uint64_t> given) {
  const std::vector<RankShare> all =
      evaluate::exchange(ranks, RankShare{node, slots, bytes_of_machine(), addresses_for_trials(slots)});
  std::uint64_t least = all.front().bytes;
  std::uint64_t addresses = all.front().addresses;
  std::uint64_t node_slots = 0;
  std::uint64_t node_ranks = 0;
  for (const RankShare& rank : all) {
    least = std::min(least, rank.bytes);
    addresses = std::min(addresses, rank.addresses);
    if (rank.node != node) continue;
    node_slots += rank.slots;
    ++node_ranks;
  }
  const std::uint64_t bytes =
      given.value_or(static_cast<std::uint64_t>(kUsedShare * static_cast<double>(least)));
  if (bytes <= kRestingBytes) {
    throw UserError("`run.memory` is " + mebibytes(bytes) + ": expected more than the " +
                    mebibytes(kRestingBytes) + " that a rank takes without trials");
  }
  const std::uint64_t of_node = bytes - std::min(bytes, node_ranks * kRestingBytes);
  const std::uint64_t of_ranks = addresses > of_node ? of_node : node_ranks * addresses;  // no overflow
  const NodeMemoryLimiter::Plan plan{std::min(bytes - kRestingBytes, addresses), std::min(of_node, of_ranks)};
  return std::make_unique<NodeMemoryLimiter>(
      plan, open_tokens(ranks, std::max<std::uint64_t>(1, node_slots), slots));
}

}  // namespace skyline::train
