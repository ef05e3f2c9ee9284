#include "evaluate/command/program_checksums.hpp"

#include "core/config/config_text.hpp"
#include "core/text/hash.hpp"
#include "support/scratch_folder.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

namespace skyline::evaluate {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

/// A test in a folder of its own, in which trainers start.
class ProgramChecksums : public ::testing::Test {
 protected:
  ProgramChecksums() { fs::current_path(folder_.path()); }
  ~ProgramChecksums() override { fs::current_path(before_); }
  static void write(const fs::path& file, const std::string& text) {
    if (file.has_parent_path()) fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  static auto of(const std::string& section) {
    return program_checksums(CommandOptions::table().parse(load_yaml_text(section, "a.yaml")));
  }

 private:
  fs::path before_ = fs::current_path();
  testing::ScratchFolder folder_;
};

constexpr const char* kMetrics = ", metrics: {score: {better: higher}}}";

TEST_F(ProgramChecksums, AreThoseOfTheFilesAmongTheArguments) {
  write("train.py", "a trainer");
  write("lib/more.py", "more");
  write("{x}", "braces");
  fs::create_symlink("train.py", "link.py");
  EXPECT_THAT(
      of(R"({run: [python3, train.py, ./lib/more.py, link.py, "{{x}", "--epochs={epochs}", lib, no.py])" +
         std::string(kMetrics)),
      UnorderedElementsAre(Pair("train.py", checksum("a trainer")), Pair("./lib/more.py", checksum("more")),
                           Pair("link.py", checksum("a trainer")), Pair("{x}", checksum("braces"))));
}

TEST_F(ProgramChecksums, HaveAProgramWithAPathAndNoneOfPathOrOfTheSystem) {
  write("train", "a program");
  EXPECT_THAT(of(std::string("{run: [./train]") + kMetrics),
              UnorderedElementsAre(Pair("./train", checksum("a program"))));
  EXPECT_THAT(of(std::string("{run: [train]") + kMetrics), IsEmpty()) << "is found in PATH";
  fs::create_symlink("/bin/sh", "shell");
  EXPECT_THAT(of(std::string("{run: [./shell, /usr/bin/env]") + kMetrics), IsEmpty());
}

TEST_F(ProgramChecksums, LeaveOutLargeFiles) {
  write("data.bin", "");
  fs::resize_file("data.bin", 16U << 20U);
  EXPECT_EQ(of(std::string("{run: [train, data.bin]") + kMetrics).size(), 1U);
  fs::resize_file("data.bin", (16U << 20U) + 1);
  EXPECT_THAT(of(std::string("{run: [train, data.bin]") + kMetrics), IsEmpty());
}

TEST_F(ProgramChecksums, HaveTheFileOfAFunctionWhereverPythonFindsItFirst) {
  write("own/trainer.py", "a script");
  EXPECT_THAT(of(std::string("{python: 'own/trainer.py:train'") + kMetrics),
              UnorderedElementsAre(Pair("own/trainer.py", checksum("a script"))));
  write("more/deep/net.py", "a module");
  const std::string module = "{python: 'deep.net:Trainer.train', env: {PYTHONPATH: 'none:more'}";
  EXPECT_THAT(of(module + kMetrics), UnorderedElementsAre(Pair("deep/net.py", checksum("a module"))));
  write("deep/net/__init__.py", "a package");
  EXPECT_THAT(of(module + kMetrics),
              UnorderedElementsAre(Pair("deep/net/__init__.py", checksum("a package"))));
  EXPECT_THAT(of(std::string("{python: 'installed.somewhere:train'") + kMetrics), IsEmpty());
}

TEST_F(ProgramChecksums, HaveThoseOfMeasuredMetrics) {
  write("train.py", "a trainer");
  write("measure.sh", "a measurement");
  EXPECT_THAT(of("{run: [python3, train.py], metrics: {score: {better: higher}, "
                 "ms: {better: lower, run: [sh, measure.sh, '{folder}']}}}"),
              UnorderedElementsAre(Pair("train.py", checksum("a trainer")),
                                   Pair("measure.sh", checksum("a measurement"))));
}

}  // namespace
}  // namespace skyline::evaluate
