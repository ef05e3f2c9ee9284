// Any text as a configuration: what reads its space, and builds networks of it, ends soon, with networks or
// with a message for the user.
#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/objective/objective_set.hpp"
#include "skyline/space/encoding.hpp"
#include "skyline/space/search_space.hpp"

#include "core/config/config_errors.hpp"
#include "core/config/config_text.hpp"
#include "space/language/searched_section.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace skyline {
namespace {

constexpr int kSampled = 5;

/// Builds some networks. A genotype whose network cannot be built is skipped, as in `show`.
void build_some(const space::SearchSpace& space, const objective::ObjectiveSet& objectives) {
  RandomStream random(1);
  for (int i = 0; i < kSampled; ++i) {
    try {
      const space::Architecture architecture = space.build(space.sample(random));
      require(!architecture.has_network() || !architecture.network().canonical_text().empty(),
              "a network without a text");
      require(space::encode(space, architecture).size() >= space.parameters().size(), "too few numbers");
      (void)space::features(architecture);
      require(architecture.cost.weight_bytes >= 0, "negative costs");
      (void)space.describe(architecture.genotype);
      (void)objectives.feasible(architecture);
    } catch (const UserError&) {
    }
  }
}

void read(const std::string& text) {
  const ConfigNode root = load_yaml_text(text, "fuzz.yaml");
  const ConfigNode& section = root.at("space");
  const ConfigNode* training = root.find("training");
  const std::vector<std::string> keys{"epochs", "batch", "optimizer", "schedule", "loss"};
  const space::SearchedSection searched(training == nullptr ? ConfigNode() : *training, section, keys, keys,
                                        false);
  const auto space = space::SearchSpace::parse(section, {{1, 8, 8}, 10}, searched.written());
  const std::vector<trial::Metric> measured{{.name = "validation_accuracy", .range = {0, 1}},
                                            {.name = "validation_loss", .ideal = 0},
                                            {.name = "latency_ms", .range = {.low = 0}}};
  const auto objectives = objective::ObjectiveSet::parse(root.at("objectives"), root.find("constraints"),
                                                         measured, space.has_network());
  build_some(space, objectives);
}

/// One line for each mistake, which does not repeat the input.
void check_message(const UserError& error) {
  constexpr std::size_t kLongest = 20'000;
  const auto* several = dynamic_cast<const ConfigErrors*>(&error);
  const std::vector<std::string> lines =
      several == nullptr ? std::vector<std::string>{error.what()} : several->lines();
  for (const std::string& line : lines) {
    if (!line.empty() && line.size() <= kLongest) continue;
    std::cerr << "a message of " << line.size() << " characters\n";
    std::terminate();
  }
}

}  // namespace
}  // namespace skyline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    skyline::read(std::string(data, data + size));
  } catch (const skyline::UserError& error) {
    skyline::check_message(error);
  }
  return 0;
}
