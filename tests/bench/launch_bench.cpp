// What the launcher adds to a program that ends at once: start and reaping of /bin/true behind the launcher
// against posix_spawn alone, also while the parent holds 2 GB. Compare the medians of repetitions.
#include "evaluate/process/report_reader.hpp"
#include "evaluate/process/user_program.hpp"

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace skyline::evaluate {
namespace {

constexpr std::size_t kGigabyte = 1'000'000'000;

std::vector<char> resident(const benchmark::State& state) {
  return std::vector<char>(static_cast<std::size_t>(state.range(0)) * kGigabyte, 'x');
}

void spawned_alone(benchmark::State& state) {
  const std::vector<char> memory = resident(state);
  std::string program = "/bin/true";
  char* const arguments[] = {program.data(), nullptr};
  for (auto _ : state) {
    pid_t child = 0;
    if (::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ) != 0) {
      throw std::runtime_error("posix_spawn");
    }
    ::waitpid(child, nullptr, 0);
  }
}

void behind_the_launcher(benchmark::State& state) {
  ::setenv("SKYLINE_TRAINER_LAUNCHER", SKYLINE_LAUNCHER_FILE, 1);
  const std::vector<char> memory = resident(state);
  const auto folder =
      std::filesystem::temp_directory_path() / ("skyline-launch-bench-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  for (auto _ : state) {
    ReportReader reader({}, false);
    UserProgram process({.arguments = {"/bin/true"},
                         .folder = folder,
                         .log = folder / "log",
                         .report_file = folder / "report"});
    while (!process.poll()) {
      process.collect(reader);
      process.wait(std::chrono::milliseconds(100));
    }
    ::unlink((folder / "report").c_str());
  }
  std::filesystem::remove_all(folder);
}

BENCHMARK(spawned_alone)->Arg(0)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(behind_the_launcher)->Arg(0)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace skyline::evaluate
