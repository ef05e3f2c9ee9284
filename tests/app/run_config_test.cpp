#include "skyline/app/run_config.hpp"

#include "skyline/app/config_file.hpp"
#include "skyline/core/error.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = SKYLINE_SOURCE_DIR;

// Data set files as configs/ wants them, made once: the digits that ship, and 200 MNIST-like images.
class RunConfigTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = fs::temp_directory_path() / ("skyline-run-config-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    store::write_dataset(folder_ / "digits.h5", store::import_digits(kSource / "data/digits.csv.gz"));
    store::DatasetContents mnist;
    mnist.shape = {1, 28, 28};
    for (int digit = 0; digit < 10; ++digit) mnist.class_names.push_back(std::to_string(digit));
    for (store::ImageSet* part : {&mnist.train, &mnist.test}) {
      part->images.assign(200 * 28 * 28, 0);
      for (std::size_t i = 0; i < part->images.size(); ++i)
        part->images[i] = static_cast<std::uint8_t>(i * 31 % 251);
      for (int i = 0; i < 200; ++i) part->labels.push_back(i % 10);
    }
    mnist.source = "made by a test";
    store::write_dataset(folder_ / "mnist.h5", mnist);
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  static ConfigNode load(const fs::path& path) {
    ConfigNode root = load_yaml_file(path);
    if (const ConfigNode* file = root.at("data").find("file")) {
      const fs::path made = folder_ / fs::path(file->as_text()).filename();
      if (fs::exists(made)) apply_override(root, "data.file=" + made.string());
    }
    return root;
  }

  static fs::path folder_;
};
fs::path RunConfigTest::folder_;

TEST_F(RunConfigTest, EveryShippedConfigurationIsValid) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(kSource / "configs")) {
    SCOPED_TRACE(entry.path().string());
    const RunConfig config = RunConfig::parse(load(entry.path()), true);
    EXPECT_GT(search::make_searcher(config.search, config.space, config.objectives, 1)->expected_trials(),
              0U);
    ++count;
  }
  EXPECT_GE(count, 3U);
}

TEST_F(RunConfigTest, AResolvedConfigurationResolvesToItself) {
  for (const char* name : {"digits.yaml", "mnist_cnn.yaml", "synthetic.yaml"}) {
    const RunConfig config = RunConfig::parse(load(kSource / "configs" / name), false);
    const std::string text = to_yaml(config.resolved);
    const RunConfig again = RunConfig::parse(load_yaml_text(text, "config.yaml"), false);
    EXPECT_EQ(to_yaml(again.resolved), text);
    EXPECT_EQ(again.identity_hash(), config.identity_hash());
  }
}

TEST_F(RunConfigTest, TheSameSettingWrittenOtherwiseIsTheSameRun) {
  const RunConfig plain = RunConfig::parse(load(kSource / "configs/digits.yaml"), false);
  ConfigNode root = load(kSource / "configs/digits.yaml");
  apply_override(root, "training.optimizer.adam.learning_rate=0.005");
  apply_override(root, "run.keep_weights=all");
  const RunConfig other = RunConfig::parse(root, false);
  EXPECT_EQ(first_identity_difference(plain.resolved, other.resolved), "");
  EXPECT_EQ(plain.identity_hash(), other.identity_hash());
}

TEST_F(RunConfigTest, NamesTheSettingInWhichTwoRunsDiffer) {
  const RunConfig plain = RunConfig::parse(load(kSource / "configs/digits.yaml"), false);
  for (const std::string key : {"search.iterations", "training.batch", "run.seed", "final.epochs"}) {
    ConfigNode root = load(kSource / "configs/digits.yaml");
    apply_override(root, key + "=7");
    const RunConfig other = RunConfig::parse(root, false);
    EXPECT_EQ(first_identity_difference(plain.resolved, other.resolved), key);
    EXPECT_NE(plain.identity_hash(), other.identity_hash());
  }
}

// Each file of tests/app/invalid is wrong in one way; its first line is `# expect: TEXT OF THE ERROR`.
class InvalidConfig : public RunConfigTest, public testing::WithParamInterface<std::string> {};

TEST_P(InvalidConfig, IsRefusedWithItsText) {
  const fs::path path = kSource / "tests/app/invalid" / (GetParam() + ".yaml");
  std::ifstream file(path);
  std::string expected;
  std::getline(file, expected);
  const std::string mark = "# expect: ";
  ASSERT_TRUE(expected.starts_with(mark));
  try {
    const RunConfig config = RunConfig::parse(load(path), false);
    (void)search::make_searcher(config.search, config.space, config.objectives, config.engine.seed);
    FAIL() << "accepted";
  } catch (const UserError& error) {
    const std::string message = error.what();
    EXPECT_THAT(message, testing::HasSubstr(expected.substr(mark.size())));
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

INSTANTIATE_TEST_SUITE_P(Configs, InvalidConfig, testing::ValuesIn(invalid_configs()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace skyline::app
