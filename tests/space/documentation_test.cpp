// The examples of docs/spaces.md and docs/layers.md are read as a user would write them.
#include "space/language/searched_section.hpp"
#include "space/space_from_yaml.hpp"

#include <fstream>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::space {
namespace {

std::vector<std::string> yaml_blocks(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> blocks;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "```yaml") {
      inside = true;
      blocks.emplace_back();
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back().append(line).append("\n");
    }
  }
  return blocks;
}

TEST(Documentation, EveryExampleSpaceIsReadAndAllItsGenotypesBuild) {
  auto blocks = yaml_blocks(SKYLINE_SOURCE_DIR "/docs/spaces.md");
  ASSERT_GE(blocks.size(), 9U);
  const auto of_layers = yaml_blocks(SKYLINE_SOURCE_DIR "/docs/layers.md");
  ASSERT_FALSE(of_layers.empty());
  blocks.insert(blocks.end(), of_layers.begin(), of_layers.end());
  for (const std::string& block : blocks) {
    const ConfigNode root = skyline::testing::config_from_yaml(block, "a.yaml", "");
    SearchSpace space;
    if (root.find("space") == nullptr) {
      space = space_from_yaml(block);
    } else {
      const SearchedSection training(root.at("training"), root.at("space"), {"batch", "optimizer"},
                                     {"epochs", "batch", "optimizer"}, false);
      EXPECT_FALSE(training.written().empty());
      space = SearchSpace::parse(root.at("space"), kMnist, training.written());
    }
    long double built = 0;
    for (std::int64_t i = 0; i < space.genotype_count(); ++i) {
      if (space.try_build(space.genotype_at(i)).architecture) ++built;
    }
    EXPECT_EQ(built, space.count_kept()) << block;
  }
}

}  // namespace
}  // namespace skyline::space
