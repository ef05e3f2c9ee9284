#pragma once

#include "core/system/process.hpp"
#include "evaluate/process/report_reader.hpp"
#include "evaluate/process/user_program.hpp"
#include "support/scratch_folder.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include <gtest/gtest.h>

namespace skyline::testing {

/// Runs shell scripts as trainers, behind the launcher of this build.
class TrainerFixture : public ::testing::Test {
 protected:
  TrainerFixture() { ::setenv("SKYLINE_TRAINER_LAUNCHER", SKYLINE_LAUNCHER_FILE, 1); }

  std::filesystem::path folder() const { return folder_.path(); }

  evaluate::ProcessPlan plan(const std::string& script, const std::string& name = "a") const {
    return {.arguments = {"/bin/sh", "-c", script},
            .variables = {{"PATH", "/usr/bin:/bin"}, {"OUT", folder().string()}},
            .folder = folder(),
            .log = folder() / (name + ".log"),
            .report_file = folder() / (name + ".report")};
  }

  /// Waits for the end, at most five minutes, and collects meanwhile.
  evaluate::ProcessEnd end_of(evaluate::UserProgram& process) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    std::optional<evaluate::ProcessEnd> end;
    while (!(end = process.poll()) && std::chrono::steady_clock::now() < until) {
      process.collect(reader_);
      process.wait(std::chrono::milliseconds(50));
    }
    process.collect(reader_);
    if (!end) ADD_FAILURE() << "the trainer does not end";
    return end.value_or(evaluate::ProcessEnd{});
  }
  evaluate::ProcessEnd run(const evaluate::ProcessPlan& plan) {
    evaluate::UserProgram process(plan);
    return end_of(process);
  }
  evaluate::ProcessEnd run(const std::string& script) { return run(plan(script)); }

  /// Waits until the process is gone, zombies aside, at most five minutes: what is killed needs a core to
  /// end.
  static bool is_gone(pid_t process) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (process_exists(process) && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return !process_exists(process);
  }

  /// Waits until the file has a line, at most five minutes, and returns its text.
  std::string wait_for(const std::string& name) const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    std::string text;
    while (!text.ends_with('\n') && std::chrono::steady_clock::now() < until) text = text_of(name);
    return text;
  }
  std::string text_of(const std::string& name) const {
    std::ifstream file(folder() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// The values of the trainer's report, or the mistake.
  std::string mistake() {
    const auto outcome = reader_.finish();
    const auto* text = std::get_if<std::string>(&outcome);
    return text == nullptr ? "" : *text;
  }

  evaluate::ReportReader reader_{
      {{.name = "accuracy", .range = {0, 100}}, {.name = "size_mb", .range = {.low = 0}}}, false};

 private:
  ScratchFolder folder_;
};

}  // namespace skyline::testing
