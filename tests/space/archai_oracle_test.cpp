// All 192 architectures of the reference system's space, as that system counts and names them.
#include "space/space_from_yaml.hpp"

#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

namespace skyline::space {
namespace {

struct Row {
  std::string depth, kernel, width, id;
  std::int64_t parameters = 0;
  std::int64_t flops = 0;
  bool valid = false;
};

std::vector<Row> oracle() {
  std::ifstream file(SKYLINE_SOURCE_DIR "/tests/space/data/archai_cnn_space.csv");
  std::vector<Row> rows;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    Row row;
    std::string parameters, flops, valid;
    for (std::string* field : {&row.depth, &row.kernel, &row.width, &row.id, &parameters, &flops, &valid}) {
      std::getline(fields, *field, ',');
    }
    row.parameters = std::stoll(parameters);
    row.flops = std::stoll(flops);
    row.valid = valid.starts_with('1');
    rows.push_back(row);
  }
  return rows;
}

TEST(ArchaiOracle, AllRowsAgreeInParametersFlopsValidityAndId) {
  const SearchSpace space = space_from_yaml(kCnnSpace);
  const std::vector<Row> rows = oracle();
  ASSERT_EQ(rows.size(), 192U);
  ASSERT_EQ(space.genotype_count(), 192);
  int valid = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Architecture built = space.build(space.genotype_at(static_cast<std::int64_t>(i)));
    const std::string name = space.describe(built.genotype);
    EXPECT_EQ(name, "depth=" + rows[i].depth + " kernel=" + rows[i].kernel + " width=" + rows[i].width);
    EXPECT_EQ(built.cost.parameters, rows[i].parameters) << name;
    EXPECT_EQ(built.cost.flops, rows[i].flops) << name;
    EXPECT_EQ(space.archai_id(built), rows[i].id) << name;
    const bool fits = built.cost.parameters <= 1'000'000 && built.cost.flops <= 1'000'000'000;
    EXPECT_EQ(fits, rows[i].valid) << name;
    valid += fits ? 1 : 0;
  }
  EXPECT_EQ(valid, 151);
}

TEST(ArchaiOracle, MacsCountConvolutionsAndLinearLayersOnly) {
  const SearchSpace space = space_from_yaml(kCnnSpace);
  const std::int64_t depths = 12, kernels[] = {1, 3, 5, 7}, widths[] = {16, 32, 64, 128};
  std::int64_t number = 0;
  for (std::int64_t depth = 1; depth <= depths; ++depth) {
    for (const std::int64_t k : kernels) {
      for (const std::int64_t h : widths) {
        std::int64_t macs = 10 * h;
        for (std::int64_t layer = 0; layer < depth; ++layer) macs += k * k * (layer == 0 ? 1 : h) * h * 784;
        EXPECT_EQ(space.build(space.genotype_at(number++)).network().cost.macs, macs);
      }
    }
  }
}

TEST(ArchaiOracle, EveryArchitectureHasItsOwnArchId) {
  const SearchSpace space = space_from_yaml(kCnnSpace);
  std::set<ArchId> ids;
  for (std::int64_t i = 0; i < space.genotype_count(); ++i) ids.insert(space.build(space.genotype_at(i)).id);
  EXPECT_EQ(ids.size(), 192U);
}

TEST(ArchaiId, SingleUnusedAndWordParametersPrintAsInPython) {
  const SearchSpace single = space_from_yaml(R"(
parameters: {width: {choice: [9, 12]}}
network: [{conv2d: {channels: $width, kernel: 1}}, global_average_pool, {linear: {features: 10}}])");
  // Python: hashlib.sha1(str((9.0,)).encode()).hexdigest()
  EXPECT_EQ(single.archai_id(single.build({{0}})), "a4669fa5625117b8a912fda7133843046f8481da");
  const SearchSpace mixed = space_from_yaml(R"(
parameters:
  depth: {range: [0, 1]}
  padding: {choice: [same, 0]}
  epsilon: {choice: [1e-5, 0.25]}
network:
  - conv2d: {channels: 4, kernel: 3, padding: $padding}
  - {repeat: $depth, body: [{batch_norm: {epsilon: $epsilon}}]}
  - global_average_pool
  - linear: {features: $classes})");
  // Python: the same of (0.0, 1.0, 0.0, nan) and of (1.0, 0.0, 1.0, 1e-05)
  EXPECT_EQ(mixed.archai_id(mixed.build({{0, 0, 1}})), "d7312375c524d07bfb610df66c2df94907b83cb2");
  EXPECT_EQ(mixed.archai_id(mixed.build({{1, 1, 0}})), "3c3d0a9fdd8c557a5af2a2375c7d54ed209126b1");
}

}  // namespace
}  // namespace skyline::space
