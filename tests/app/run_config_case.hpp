#pragma once

#include "app/config/config_file.hpp"
#include "app/config/new_run_check.hpp"
#include "app/config/run_config.hpp"
#include "core/config/config_text.hpp"
#include "store/publish/publish.hpp"
#include "support/written_dataset.hpp"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace skyline::app {

namespace fs = std::filesystem;

inline const fs::path kSource = SKYLINE_SOURCE_DIR;

/// Data set files as configs/ wants them, made once: the digits that ship, and images like those of MNIST and
/// CIFAR-10.
class RunConfigTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = fs::temp_directory_path() / ("skyline-run-config-" + std::to_string(getpid()));
    fs::create_directories(folder_);
    fs::copy_file(kSource / "data/digits.h5", folder_ / "digits.h5");
    write_images("mnist.h5", {1, 28, 28});
    write_images("cifar10.h5", {3, 32, 32});
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  /// 200 images of ten classes in each part.
  static void write_images(const char* name, const space::Shape& shape) {
    skyline::testing::DatasetContents contents;
    contents.shape = shape;
    for (int digit = 0; digit < 10; ++digit) contents.class_names.push_back(std::to_string(digit));
    for (store::Samples* part : {&contents.train, &contents.test}) {
      part->pixels().assign(static_cast<std::size_t>(200 * shape.elements()), 0);
      for (std::size_t i = 0; i < part->pixels().size(); ++i)
        part->pixels()[i] = static_cast<std::uint8_t>(i * 31 % 251);
      for (int i = 0; i < 200; ++i) part->classes().push_back(i % 10);
    }
    contents.source = "made by a test";
    skyline::testing::write_dataset(folder_ / name, contents);
  }

  static ConfigNode load(const fs::path& path) {
    ConfigNode root = store::load_yaml_file(path);
    const ConfigNode* const data = root.find("data");  // a trainer of the user's own may need none
    if (const ConfigNode* file = data == nullptr ? nullptr : data->find("file")) {
      const fs::path made = folder_ / fs::path(file->as_text()).filename();
      if (fs::exists(made)) apply_override(root, "data.file=" + made.string());
    }
    return root;
  }

  /// configs/digits.yaml with settings replaced.
  static RunConfig with(const std::vector<std::string>& settings) {
    ConfigNode root = load(kSource / "configs/digits.yaml");
    for (const std::string& setting : settings) apply_override(root, setting);
    return RunConfig::parse(root, false);
  }
  static void expect_resolves_to_itself(const RunConfig& config) {
    const std::string text = to_yaml(config.resolved);
    const RunConfig again = RunConfig::parse(load_yaml_text(text, "config.yaml"), false);
    EXPECT_EQ(to_yaml(again.resolved), text);
    EXPECT_EQ(again.identity_hash(), config.identity_hash());
    EXPECT_EQ(to_yaml(RunConfig::read(load_yaml_text(text, "config.yaml")).resolved), text);
  }
  static void expect_same_run(const RunConfig& left, const RunConfig& right) {
    EXPECT_EQ(first_identity_difference(left.resolved, right.resolved), "");
    EXPECT_EQ(left.identity_hash(), right.identity_hash());
  }

  inline static fs::path folder_;
};

}  // namespace skyline::app
