#include "train/loading/driver_report.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>

namespace skyline::train {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

const DriverSources kFake = {FAKE_DRIVER, FAKE_DRIVER, "/nowhere"};

/// Environment variables for the time of a test.
class Planted {
 public:
  explicit Planted(const std::map<std::string, std::string>& values) : values_(values) {
    unsetenv("CUDA_VISIBLE_DEVICES");
    for (const auto& [name, value] : values_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Planted() {
    for (const auto& [name, value] : values_) unsetenv(name.c_str());
  }
  Planted(const Planted&) = delete;
  Planted& operator=(const Planted&) = delete;

 private:
  std::map<std::string, std::string> values_;
};

std::string problem(const std::map<std::string, std::string>& values) {
  const Planted planted(values);
  return driver_problem(read_driver(kFake));
}

TEST(DriverReport, accepts_a_driver_with_a_usable_gpu) {
  EXPECT_THAT(problem({}), IsEmpty());
  EXPECT_THAT(problem({{"FAKE_DEVICES", "8"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}), IsEmpty());
}

TEST(DriverReport, reads_what_the_driver_says) {
  const Planted planted({{"FAKE_DEVICES", "2"}, {"FAKE_CAPABILITY", "86"}});
  const DriverReport report = read_driver(kFake);
  EXPECT_EQ(report.cuda_version, 13000);
  ASSERT_EQ(report.devices.size(), 2U);
  EXPECT_EQ(report.devices[1].name, "Fake GPU 1");
  EXPECT_EQ(report.devices[1].capability, 86);
  EXPECT_FALSE(report.devices[1].prohibited);
}

TEST(DriverReport, says_that_there_is_no_driver) {
  const std::string text =
      driver_problem(read_driver({"libno-such-cuda.so.1", "libno-such-nvml.so.1", "/nowhere"}));
  EXPECT_THAT(text, StartsWith("no NVIDIA driver (libno-such-cuda.so.1: cannot open"));
}

TEST(DriverReport, knows_a_container_without_gpu_support) {
  const std::string folder = ::testing::TempDir() + "driver_report_proc";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/version") << "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06\n";
  const std::string text =
      driver_problem(read_driver({"libno-such-cuda.so.1", "libno-such-nvml.so.1", folder}));
  EXPECT_THAT(text, HasSubstr("docker --gpus all"));
  EXPECT_THAT(text, HasSubstr("libno-such-cuda.so.1"));
}

TEST(DriverReport, an_old_driver_is_told_which_is_needed) {
  EXPECT_EQ(
      problem({{"FAKE_VERSION", "12040"}}),
      "the NVIDIA driver 550.54.14 supports CUDA 12.4, needed is 13.0: update the driver to version "
      "580 or newer, or take NVIDIA's cuda-compat-13-0 into the container or LD_LIBRARY_PATH (data-centre "
      "GPUs)");
  EXPECT_THAT(problem({{"FAKE_VERSION", "12040"}, {"FAKE_INIT", "100"}}), HasSubstr("needed is 13.0"));
}

TEST(DriverReport, says_that_the_environment_hides_all_gpus) {
  EXPECT_EQ(problem({{"FAKE_INIT", "100"}, {"CUDA_VISIBLE_DEVICES", ""}, {"FAKE_NODE_DEVICES", "4"}}),
            "CUDA_VISIBLE_DEVICES='' hides all 4 GPUs of this node");
  EXPECT_EQ(problem({{"FAKE_DEVICES", "0"}, {"CUDA_VISIBLE_DEVICES", "7"}}),
            "CUDA_VISIBLE_DEVICES='7' hides the GPU of this node");
}

TEST(DriverReport, does_not_blame_the_environment_where_there_is_no_gpu) {
  EXPECT_EQ(problem({{"FAKE_INIT", "100"}, {"CUDA_VISIBLE_DEVICES", "0"}, {"FAKE_NODE_DEVICES", "0"}}),
            "the NVIDIA driver finds no GPU on this node");
}

TEST(DriverReport, knows_mig_mode_without_instances) {
  const std::string text = problem({{"FAKE_INIT", "100"}, {"FAKE_MIG", "1"}, {"FAKE_NODE_DEVICES", "2"}});
  EXPECT_THAT(text, StartsWith("all 2 GPUs of this node (Fake A100) are in MIG mode without an instance"));
}

TEST(DriverReport, a_mig_instance_is_a_device) {
  EXPECT_THAT(problem({{"FAKE_MIG", "1"}, {"FAKE_DEVICES", "1"}}), IsEmpty());
}

TEST(DriverReport, names_the_gpu_that_nobody_may_use) {
  EXPECT_THAT(problem({{"FAKE_MODE", "2"}}), StartsWith("GPU 0 (Fake GPU 0) is in compute mode Prohibited"));
  EXPECT_THAT(problem({{"FAKE_MODE", "3"}}), IsEmpty());  // exclusive: one process may
}

TEST(DriverReport, names_the_gpu_that_is_too_old) {
  EXPECT_THAT(problem({{"FAKE_CAPABILITY", "70"}}), HasSubstr("has compute capability 7.0, needed is 7.5"));
}

TEST(DriverReport, tells_a_gpu_that_cannot_be_used_from_one_that_is_not_there_or_hidden) {
  const auto unusable = [](const std::map<std::string, std::string>& values) {
    const Planted planted(values);
    return has_unusable_gpu(read_driver(kFake));
  };
  EXPECT_TRUE(unusable({{"FAKE_VERSION", "12040"}}));
  EXPECT_TRUE(unusable({{"FAKE_MODE", "2"}}));
  EXPECT_TRUE(unusable({{"FAKE_CAPABILITY", "70"}}));
  EXPECT_TRUE(unusable({{"FAKE_INIT", "802"}}));
  EXPECT_TRUE(unusable({{"FAKE_INIT", "100"}, {"FAKE_MIG", "1"}, {"FAKE_NODE_DEVICES", "2"}}));
  EXPECT_FALSE(unusable({}));
  EXPECT_FALSE(unusable({{"FAKE_INIT", "100"}, {"FAKE_NODE_DEVICES", "0"}}));
  EXPECT_FALSE(unusable({{"FAKE_INIT", "100"}, {"FAKE_NODE_DEVICES", "2"}}));  // limits of the job
  EXPECT_FALSE(unusable({{"FAKE_INIT", "100"}, {"CUDA_VISIBLE_DEVICES", ""}, {"FAKE_NODE_DEVICES", "4"}}));
  EXPECT_FALSE(has_unusable_gpu(read_driver({"libno-such-cuda.so.1", "libno-such-nvml.so.1", "/nowhere"})));
}

TEST(DriverReport, gives_the_drivers_own_words_for_other_errors) {
  EXPECT_THAT(problem({{"FAKE_INIT", "34"}}), HasSubstr("serves for linking alone, not a driver"));
  EXPECT_THAT(problem({{"FAKE_INIT", "802"}}), HasSubstr("system not yet initialized"));
  EXPECT_THAT(problem({{"FAKE_INIT", "802"}}), HasSubstr("fabric manager"));
  EXPECT_THAT(problem({{"FAKE_INIT", "999"}}), HasSubstr("error 999 (cuInit: planted error)"));
}

TEST(DriverReport, survives_a_library_that_is_no_driver) {
  const std::string text = driver_problem(read_driver({"libz.so.1", "libz.so.1", "/nowhere"}));
  EXPECT_THAT(text, HasSubstr("does not start"));
  EXPECT_THAT(text, Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace skyline::train
