#include "run/baselines.hpp"

#include <cstdint>
#include <utility>

namespace skyline::run {

ConfigNode baselines_node(std::span<const trial::Baseline> baselines) {
  std::vector<ConfigNode::Entry> entries;
  for (const trial::Baseline& baseline : baselines) {
    std::vector<ConfigNode::Entry> facts;
    const auto count = [&](const char* name, const std::optional<std::uint64_t>& value) {
      if (value) facts.push_back({name, ConfigNode::make_integer(static_cast<std::int64_t>(*value)), {}});
    };
    count("samples", baseline.samples);
    count("scored", baseline.scored);
    if (baseline.constant) facts.push_back({"constant", ConfigNode::make_number(*baseline.constant), {}});
    if (!facts.empty()) entries.push_back({baseline.metric, ConfigNode::make_map(std::move(facts), {}), {}});
  }
  return entries.empty() ? ConfigNode() : ConfigNode::make_map(std::move(entries), {});
}

std::vector<trial::Baseline> baselines_of(const ConfigNode& config) {
  const ConfigNode* data = config.is_map() ? config.find("data") : nullptr;
  const ConfigNode* stated = data != nullptr && data->is_map() ? data->find("yardsticks") : nullptr;
  std::vector<trial::Baseline> baselines;
  if (stated == nullptr || !stated->is_map()) return baselines;
  for (const ConfigNode::Entry& entry : stated->entries()) {
    trial::Baseline& baseline = baselines.emplace_back(trial::Baseline{entry.key, {}, {}, {}});
    const auto count = [&](const char* name, std::optional<std::uint64_t>& value) {
      const ConfigNode* node = entry.value.find(name);
      if (node == nullptr) return;
      if (node->as_integer() < 1) node->fail_expected("a whole number above 0");
      value = static_cast<std::uint64_t>(node->as_integer());
    };
    count("samples", baseline.samples);
    count("scored", baseline.scored);
    if (const ConfigNode* node = entry.value.find("constant")) baseline.constant = node->as_number();
  }
  return baselines;
}

}  // namespace skyline::run
