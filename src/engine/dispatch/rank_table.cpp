#include "engine/dispatch/rank_table.hpp"

#include "skyline/core/error.hpp"
#include "skyline/space/genotype.hpp"

#include "core/text/hash.hpp"

#include <algorithm>
#include <sstream>

namespace skyline::engine {

std::string fingerprint(const space::SearchSpace& space, const store::JournalHeader& header,
                        const EngineOptions& options) {
  std::string text;
  for (const space::Parameter& parameter : space.parameters()) {
    text += parameter.name;
    for (const space::Value& value : parameter.values) text += ' ' + space::to_text(value);
    text += '\n';
  }
  for (const std::string& metric : header.metrics) text += metric + '\n';
  text += to_hex(options.seed) + ' ' + std::to_string(static_cast<int>(options.keep_weights)) + ' ' +
          std::to_string(options.threads_per_slot) + ' ' + std::to_string(static_cast<int>(options.inherit)) +
          ' ' + header.config_hash;
  return to_hex(stable_hash64(text));
}

std::size_t own_slots(comm::Environment& environment, const EngineOptions& options,
                      const trial::Evaluator& evaluator) {
  if (options.threads_per_slot < 1) {
    throw UserError("threads per slot: expected at least 1, got " + std::to_string(options.threads_per_slot));
  }
  if (options.slots && *options.slots == 0) throw UserError("slots of a rank: expected at least 1, got 0");
  if (options.coordinator_only) {
    if (environment.world().size() == 1) {
      throw UserError("a rank 0 that coordinates only needs at least 2 ranks, got 1");
    }
    if (environment.world().rank() == 0) return 0;
  }
  if (options.slots) return *options.slots;
  if (const std::size_t slots = evaluator.slots(); slots > 0) return slots;
  const std::size_t processors = environment.place().processors.size();
  const auto threads = static_cast<std::size_t>(options.threads_per_slot);
  return std::max<std::size_t>(1, processors / threads);
}

RankTable exchange_ranks(comm::Environment& environment, std::size_t slots, const std::string& fingerprint) {
  comm::Communicator& world = environment.world();
  const comm::NodePlace& place = environment.place();
  const std::string mine = std::to_string(slots) + ' ' + std::to_string(place.processors.size()) + ' ' +
                           fingerprint + ' ' + place.host;
  RankTable table;
  table.groups_span = environment.threads_may_communicate();
  std::string first_fingerprint;
  for (const std::string& line : comm::gather_texts(world, mine, 0)) {
    std::istringstream words(line);
    std::size_t count = 0;
    std::size_t processors = 0;
    std::string print;
    std::string host;
    words >> count >> processors >> print >> host;
    if (table.slots.empty()) first_fingerprint = print;
    if (print != first_fingerprint) {
      throw InternalError("rank " + std::to_string(table.slots.size()) + " on " + host +
                          " has another space, evaluator or seed than rank 0");
    }
    table.slots.push_back(count);
    table.hosts.push_back(host);
    table.processors.push_back(processors);
    table.most_slots = std::max(table.most_slots, count);
  }
  table.most_slots = std::stoul(comm::broadcast_text(world, std::to_string(table.most_slots), 0));
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
