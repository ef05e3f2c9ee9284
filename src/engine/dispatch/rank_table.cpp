#include "engine/dispatch/rank_table.hpp"

#include "skyline/core/error.hpp"
#include "skyline/space/value.hpp"

#include "core/text/hash.hpp"

#include <algorithm>
#include <sstream>

namespace skyline::engine {
namespace {

/// Differs between ranks that would not understand each other's records or evaluate differently.
std::string fingerprint(const RunInputs& inputs) {
  std::string text;
  for (const space::Parameter& parameter : inputs.space.parameters()) {
    text += parameter.name;
    for (const space::Value& value : parameter.values) text += ' ' + space::to_text(value);
    text += '\n';
  }
  for (const std::string& metric : inputs.evaluator.metrics()) text += metric + '\n';
  text += to_hex(inputs.options.seed) + ' ' + std::to_string(static_cast<int>(inputs.options.keep_weights)) +
          ' ' + std::to_string(inputs.options.threads_per_slot) + ' ' +
          std::to_string(static_cast<int>(inputs.options.inherit)) + ' ' + inputs.header.config_hash;
  return to_hex(stable_hash64(text));
}

}  // namespace

std::size_t own_slots(const RunInputs& inputs) {
  const EngineOptions& options = inputs.options;
  if (options.threads_per_slot < 1) {
    throw UserError("threads per slot: expected at least 1, got " + std::to_string(options.threads_per_slot));
  }
  if (options.slots && *options.slots == 0) throw UserError("slots of a rank: expected at least 1, got 0");
  if (options.coordinator_only) {
    if (inputs.environment.world().size() == 1) {
      throw UserError("a rank 0 that coordinates only needs at least 2 ranks, got 1");
    }
    if (inputs.environment.world().rank() == 0) return 0;
  }
  if (options.slots) return *options.slots;
  if (const std::size_t slots = inputs.evaluator.slots(); slots > 0) return slots;
  const std::size_t processors = inputs.environment.place().processors.size();
  const auto threads = static_cast<std::size_t>(options.threads_per_slot);
  return std::max<std::size_t>(1, processors / threads);
}

RankTable exchange_ranks(const RunInputs& inputs, std::size_t slots) {
  comm::Communicator& world = inputs.environment.world();
  const comm::NodePlace& place = inputs.environment.place();
  const std::string mine = std::to_string(slots) + ' ' + std::to_string(place.processors.size()) + ' ' +
                           fingerprint(inputs) + ' ' + place.host;
  RankTable table;
  table.groups_span = inputs.environment.threads_may_communicate();
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

}  // namespace skyline::engine
