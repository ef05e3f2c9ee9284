#include "engine/dispatch/rank_table.hpp"

#include "skyline/core/error.hpp"
#include "skyline/space/genotype.hpp"

#include "comm/agreement.hpp"
#include "core/text/hash.hpp"

#include <algorithm>

namespace skyline::engine {
namespace {

/// The message about a rank to rank 0.
struct RankSlots {
  std::size_t slots = 0;
  std::size_t processors = 0;
  std::uint64_t fingerprint = 0;
};

}  // namespace

std::uint64_t fingerprint(const space::SearchSpace& space, const store::JournalHeader& header,
                          const EngineOptions& options) {
  std::string text;
  for (const space::Parameter& parameter : space.parameters()) {
    text += parameter.name;
    for (const space::Value& value : parameter.values) text += ' ' + space::to_text(value);
    text += '\n';
  }
  for (const trial::Metric& metric : header.metrics) text += store::to_text(metric) + '\n';
  text += to_hex(options.seed) + ' ' + std::to_string(static_cast<int>(options.keep_weights)) + ' ' +
          std::to_string(options.threads_per_slot) + ' ' + std::to_string(static_cast<int>(options.inherit)) +
          ' ' + header.config_hash;
  return stable_hash64(text);
}

std::size_t own_slots(const comm::Communicator& world, std::size_t processors, const EngineOptions& options,
                      const trial::Evaluator& evaluator) {
  if (options.threads_per_slot < 1) {
    throw UserError("threads per slot: expected at least 1, got " + std::to_string(options.threads_per_slot));
  }
  if (options.slots && *options.slots == 0) throw UserError("slots of a rank: expected at least 1, got 0");
  if (options.coordinator_only) {
    if (world.size() == 1) throw UserError("a rank 0 that coordinates only needs at least 2 ranks, got 1");
    if (world.rank() == 0) return 0;
  }
  if (options.slots) return *options.slots;
  if (const std::size_t slots = evaluator.slots(); slots > 0) return slots;
  const auto threads = static_cast<std::size_t>(options.threads_per_slot);
  return std::max<std::size_t>(1, processors / threads);
}

std::size_t think_threads(const EngineOptions& options, const ThinkPlace& place) {
  const std::size_t waiting = place.slots - std::min(place.slots, place.under_way);
  const std::size_t free = place.slots == 0 ? place.own : place.own * waiting / place.slots;
  std::size_t most = place.allowed;
  if (options.processor_quota) most = std::min(most, static_cast<std::size_t>(*options.processor_quota));
  return std::max<std::size_t>(1, std::min(options.think_threads.value_or(free), most));
}

RankTable exchange_ranks(comm::Environment& environment, std::size_t slots, std::size_t processors,
                         std::uint64_t fingerprint) {
  comm::Communicator& world = environment.world();
  RankTable table;
  table.groups_span = environment.threads_may_communicate();
  table.hosts = environment.hosts();
  const RankSlots mine{slots, processors, fingerprint};
  for (const RankSlots& offer : comm::gather(world, mine)) {
    if (offer.fingerprint != fingerprint) {
      const std::size_t rank = table.slots.size();
      throw InternalError("rank " + std::to_string(rank) + " on " + table.hosts[rank] +
                          " has another space, evaluator or seed than rank 0");
    }
    table.slots.push_back(offer.slots);
    table.processors.push_back(offer.processors);
  }
  return table;
}

std::vector<run::SlotAccount> slots_of(const RankTable& ranks) {
  std::vector<run::SlotAccount> all;
  for (std::size_t rank = 0; rank < ranks.slots.size(); ++rank) {
    for (std::size_t slot = 0; slot < ranks.slots[rank]; ++slot) {
      run::SlotAccount account;
      account.rank = static_cast<int>(rank);
      account.slot = static_cast<int>(slot);
      account.host = ranks.hosts[rank];
      all.push_back(std::move(account));
    }
  }
  return all;
}

}  // namespace skyline::engine
