#include "skyline/search/searcher.hpp"

#include "skyline/core/error.hpp"

#include "search/algorithms/algorithm.hpp"

#include <algorithm>

namespace skyline::search {

namespace {

const Algorithm* find_algorithm(std::string_view name) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

const Algorithm& read_algorithm(const ConfigNode& value) {
  if (const Algorithm* algorithm = find_algorithm(value.as_text())) return *algorithm;
  std::vector<std::string> known;
  for (const Algorithm& algorithm : algorithms()) known.emplace_back(algorithm.name);
  value.fail("unknown algorithm `" + value.as_text() + "`, " + suggestion(value.as_text(), known));
}

const Algorithm& algorithm_of(const SearchOptions& options) {
  const Algorithm* algorithm = find_algorithm(options.algorithm);
  require(algorithm != nullptr, "search options with an unknown algorithm");
  return *algorithm;
}

void read_key(const ConfigNode& section, const ConfigNode::Entry& entry, const Algorithm& algorithm,
              SearchOptions& options) {
  if (entry.key == "algorithm") return;
  const auto key = std::find_if(algorithm.keys.begin(), algorithm.keys.end(),
                                [&](const OptionKey& known) { return known.name == entry.key; });
  if (key != algorithm.keys.end()) return key->read(entry.value, options);
  std::vector<std::string> known{"algorithm"};
  for (const OptionKey& other : algorithm.keys) known.emplace_back(other.name);
  ConfigNode at_key = ConfigNode::make_null(entry.key_position);
  at_key.assign_paths(section.path());
  at_key.fail("unknown key `" + entry.key + "` of the algorithm " + options.algorithm + ", " +
              suggestion(entry.key, known));
}

}  // namespace

SearchOptions SearchOptions::parse(const ConfigNode& section) {
  SearchOptions options;
  if (section.is_null()) return options;
  if (const ConfigNode* name = section.find("algorithm")) options.algorithm = read_algorithm(*name).name;
  const Algorithm& algorithm = algorithm_of(options);
  for (const ConfigNode::Entry& entry : section.entries()) read_key(section, entry, algorithm, options);
  return options;
}

ConfigNode SearchOptions::to_config() const {
  std::vector<ConfigNode::Entry> entries{{"algorithm", ConfigNode::make_scalar(algorithm, {}), {}}};
  for (const OptionKey& key : algorithm_of(*this).keys) {
    ConfigNode value = key.write(*this);
    if (!value.is_null()) entries.push_back({std::string(key.name), std::move(value), {}});
  }
  return ConfigNode::make_map(std::move(entries), {});
}

std::unique_ptr<Searcher> make_searcher(const SearchOptions& options, const space::SearchSpace& space,
                                        const objective::ObjectiveSet& objectives, std::uint64_t seed) {
  return algorithm_of(options).make(options, space, objectives, seed);
}

}  // namespace skyline::search
