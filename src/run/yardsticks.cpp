#include "run/yardsticks.hpp"

#include <cstdint>
#include <utility>

namespace skyline::run {

ConfigNode yardsticks_node(std::span<const trial::Yardstick> yardsticks) {
  std::vector<ConfigNode::Entry> entries;
  for (const trial::Yardstick& yardstick : yardsticks) {
    std::vector<ConfigNode::Entry> facts;
    const auto count = [&](const char* name, const std::optional<std::uint64_t>& value) {
      if (value) facts.push_back({name, ConfigNode::make_integer(static_cast<std::int64_t>(*value)), {}});
    };
    count("samples", yardstick.samples);
    count("scored", yardstick.scored);
    if (yardstick.constant) facts.push_back({"constant", ConfigNode::make_number(*yardstick.constant), {}});
    if (!facts.empty()) entries.push_back({yardstick.metric, ConfigNode::make_map(std::move(facts), {}), {}});
  }
  return entries.empty() ? ConfigNode() : ConfigNode::make_map(std::move(entries), {});
}

std::vector<trial::Yardstick> yardsticks_of(const ConfigNode& config) {
  const ConfigNode* data = config.is_map() ? config.find("data") : nullptr;
  const ConfigNode* stated = data != nullptr && data->is_map() ? data->find("yardsticks") : nullptr;
  std::vector<trial::Yardstick> yardsticks;
  if (stated == nullptr || !stated->is_map()) return yardsticks;
  for (const ConfigNode::Entry& entry : stated->entries()) {
    trial::Yardstick& yardstick = yardsticks.emplace_back(trial::Yardstick{entry.key, {}, {}, {}});
    const auto count = [&](const char* name, std::optional<std::uint64_t>& value) {
      const ConfigNode* node = entry.value.find(name);
      if (node == nullptr) return;
      if (node->as_integer() < 1) node->fail_expected("a whole number above 0");
      value = static_cast<std::uint64_t>(node->as_integer());
    };
    count("samples", yardstick.samples);
    count("scored", yardstick.scored);
    if (const ConfigNode* node = entry.value.find("constant")) yardstick.constant = node->as_number();
  }
  return yardsticks;
}

}  // namespace skyline::run
