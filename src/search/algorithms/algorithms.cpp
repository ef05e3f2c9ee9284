#include "search/algorithms/algorithms.hpp"

#include "core/registry.hpp"
#include "core/text/foreign_text.hpp"

#include <algorithm>

namespace skyline::search {
namespace {

using Algorithms = Registry<Algorithm>;

Algorithms& registry() {
  static Algorithms algorithms("search algorithm", [](Algorithms& built_in) {
    for (const auto make :
         {evolution_pareto, exhaustive_search, listed_search, local_search, mo_asha, mo_bananas, nsga2,
          program_search, random_search, regularized_evolution, skyline_search, successive_halving}) {
      const Algorithm algorithm = make();
      built_in.add(algorithm.name, algorithm);
    }
  });
  return algorithms;
}

constexpr const char* kPreset = "skyline";

/// Names the algorithm of a key that the preset one does not have: such a section was meant for the other.
void check_keys_of_preset(const ConfigNode& section, const Algorithm& preset) {
  if (!section.is_map()) return;
  const std::vector<std::string> keys = preset.keys->names();
  for (const ConfigNode::Entry& entry : section.entries()) {
    if (std::ranges::find(keys, entry.key) != keys.end()) continue;
    for (const std::string& name : algorithm_names()) {
      const std::vector<std::string> others = find_algorithm(name)->keys->names();
      if (std::ranges::find(others, entry.key) == others.end()) continue;
      entry.value.fail("a key of `algorithm: " + name +
                       "`, which must be stated; without `algorithm` it is " + std::string(kPreset) +
                       ", whose length is `trials`");
    }
  }
}

}  // namespace

void register_algorithm(const Algorithm& algorithm) {
  require(algorithm.keys != nullptr && algorithm.make, "an algorithm must have `keys` and `make`");
  registry().add(algorithm.name, algorithm);
}

std::vector<std::string> algorithm_names() {
  return registry().names();
}

const Algorithm* find_algorithm(std::string_view name) {
  return registry().find(name);
}

const Algorithm& algorithm_of(const ConfigNode& section) {
  const ConfigNode* name = section.is_null() ? nullptr : section.find("algorithm");
  if (name == nullptr) {
    const Algorithm& preset = *find_algorithm(kPreset);
    check_keys_of_preset(section, preset);
    return preset;
  }
  if (const Algorithm* found = find_algorithm(name->as_text())) return *found;
  name->fail("unknown algorithm " + in_quotes(name->as_text()) + ", " +
             suggestion(name->as_text(), algorithm_names()));
}

}  // namespace skyline::search
