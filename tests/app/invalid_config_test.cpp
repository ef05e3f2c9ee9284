#include "skyline/core/error.hpp"

#include "app/run_config_case.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::app {
namespace {

// Each file of tests/app/invalid is wrong in one way; its first line is `# expect: TEXT OF THE ERROR`.
class InvalidConfig : public RunConfigTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(InvalidConfig, IsRefusedWithItsText) {
  const fs::path path = kSource / "tests/app/invalid" / (GetParam() + ".yaml");
  std::ifstream file(path);
  std::string expected;
  std::getline(file, expected);
  const std::string mark = "# expect: ";
  ASSERT_TRUE(expected.starts_with(mark));
  try {
    const ConfigNode root = load(path);
    const RunConfig config = RunConfig::parse(root, false);
    check_new_run(root, config);
    (void)config.make_searcher();
    FAIL() << "accepted";
  } catch (const UserError& error) {
    const std::string message = error.what();
    EXPECT_THAT(message, ::testing::HasSubstr(expected.substr(mark.size())));
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 0) << "more than one line";
  }
}

std::vector<std::string> invalid_configs() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kSource / "tests/app/invalid"))
    names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Configs, InvalidConfig, ::testing::ValuesIn(invalid_configs()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace skyline::app
