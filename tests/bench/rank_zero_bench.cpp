// What rank 0 costs: trials that do nothing, through a whole job of the engine with its journal. Their
// networks have three layers a block, and two. Prints rank 0's memory and its processor time for each
// trial.
//   [mpirun -np 2] rank_zero_bench TRIALS BLOCKS FOLDER
// A second call with the same folder resumes the run: all is replayed. With several ranks rank 0 only
// coordinates, and a bare loop over MPI is timed first: a message of a trial's size to the next rank and one
// of a result's size back, two trials under way for each rank. What the search costs, which builds the
// networks, is timed within the run and, last, by itself: the rest of the run is what the engine costs.
#include "skyline/search/algorithm.hpp"
#include "skyline/search/candidate_pool.hpp"

#include "comm/environment.hpp"
#include "engine/engine_job.hpp"
#include "support/yaml_config.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

namespace skyline {
namespace {

/// With four blocks or more the space has millions of genotypes.
std::string space_of(const std::string& blocks) {
  return "parameters:\n"
         "  width: {range: [4, 256], step: 4, each: true}\n"
         "network:\n"
         "  - repeat: " +
         blocks +
         "\n"
         "    body: [{conv2d: {channels: $width, kernel: 3, padding: same}}, batch_norm, relu]\n"
         "  - global_average_pool\n"
         "  - linear: {features: $classes}\n";
}

/// Measures a number that the architecture and its seed determine.
class NoWork final : public trial::Evaluator {
 public:
  double predicted_cost(const trial::Trial&) const override { return 1; }
  trial::Outcome evaluate(const trial::Trial& trial, trial::EvaluationContext&) override {
    constexpr double kMost = 18446744073709551616.0;  // 2^64
    return trial::Measurements{{static_cast<double>(trial.seed) / kMost}};
  }
};

double seconds_of(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double thread_seconds() {
  return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

/// The processor time of a search within a run: of its answers, and of the networks that it has built and
/// nobody uses any more.
class TimedSearch final : public search::Searcher {
 public:
  TimedSearch(std::unique_ptr<search::Searcher> search, double& seconds)
      : search_(std::move(search)), seconds_(seconds) {}

  search::Answer ask(std::size_t room) override {
    const double before_s = thread_seconds();
    built_.clear();
    search::Answer answer = search_->ask(room);
    for (const trial::Proposal& proposal : answer.proposals) built_.push_back(proposal.architecture);
    seconds_ += thread_seconds() - before_s;
    return answer;
  }
  void tell(const trial::CommittedTrial& committed) override { search_->tell(committed); }
  bool needs_results() const override { return search_->needs_results(); }
  bool finished() const override { return search_->finished(); }
  std::string finish_reason() const override { return search_->finish_reason(); }
  std::size_t expected_trials() const override { return search_->expected_trials(); }

 private:
  std::unique_ptr<search::Searcher> search_;
  double& seconds_;
  std::vector<search::ArchitecturePointer> built_;
};

struct Usage {
  std::chrono::steady_clock::time_point wall = std::chrono::steady_clock::now();
  double main_s = thread_seconds();
  double process_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
};

constexpr int kTag = 1;
constexpr std::size_t kTrialBytes = 160;
constexpr std::size_t kResultBytes = 360;
constexpr std::uint64_t kUnderWay = 2;       // trials of each rank
constexpr std::size_t kBareTrials = 10'000;  // at most

void work_off(std::size_t bytes) {
  std::vector<char> trial(kTrialBytes);
  const std::vector<char> result(bytes);
  for (;;) {
    MPI_Status status;
    MPI_Recv(trial.data(), static_cast<int>(trial.size()), MPI_CHAR, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG != kTag) return;
    MPI_Send(result.data(), static_cast<int>(result.size()), MPI_CHAR, 0, kTag, MPI_COMM_WORLD);
  }
}

/// What a manager of trials cannot do without. Collective. @return  microseconds a trial, on rank 0
double bare_loop_us(std::size_t trials, int ranks, int rank) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) {
    work_off(kResultBytes);
    return 0;
  }
  const std::vector<char> trial(kTrialBytes);
  std::vector<char> result(kResultBytes);
  const Usage before;
  std::uint64_t sent = 0;
  const auto send = [&](int to, int tag) {
    MPI_Send(trial.data(), static_cast<int>(trial.size()), MPI_CHAR, to, tag, MPI_COMM_WORLD);
    ++sent;
  };
  for (int to = 1; to < ranks; ++to) {
    for (std::uint64_t i = 0; i < kUnderWay; ++i) send(to, kTag);
  }
  for (std::uint64_t done = 0; done < trials; ++done) {
    MPI_Status status;
    MPI_Recv(result.data(), static_cast<int>(result.size()), MPI_CHAR, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD,
             &status);
    if (sent < trials) send(status.MPI_SOURCE, kTag);
  }
  const double seconds = thread_seconds() - before.main_s;
  for (int to = 1; to < ranks; ++to) send(to, kTag + 1);
  return 1e6 * seconds / static_cast<double>(trials);
}

/// A line of /proc/self/status, in bytes.
double memory_bytes(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name)) return 1024.0 * std::stod(line.substr(name.size() + 1));
  }
  return std::numeric_limits<double>::quiet_NaN();
}

void print(const char* how, std::size_t trials, const Usage& before, double search_s, double bytes_before) {
  const Usage after;
  const auto count = static_cast<double>(trials);
  const double wall_s = std::chrono::duration<double>(after.wall - before.wall).count();
  std::printf("%s: %zu trials, wall %.1f s\n", how, trials, wall_s);
  const double main_us = 1e6 * (after.main_s - before.main_s) / count;
  const double all_us = 1e6 * (after.process_s - before.process_s) / count;
  const double search_us = 1e6 * search_s / count;
  std::printf("  microseconds a trial: wall %.1f, main thread %.1f, all threads %.1f\n", 1e6 * wall_s / count,
              main_us, all_us);
  std::printf("  of them the search %.1f, so the engine: main thread %.1f, all threads %.1f\n", search_us,
              main_us - search_us, all_us - search_us);
  const double kept = memory_bytes("VmRSS") - bytes_before;
  std::printf("  memory: %.0f MB at the end, %.0f MB at most, %.0f bytes a trial\n",
              memory_bytes("VmRSS") / 1e6, memory_bytes("VmHWM") / 1e6, kept / count);
}

/// What the search itself costs. @return  microseconds a trial
double search_alone_us(search::Searcher& searcher) {
  const double before_s = thread_seconds();
  std::size_t trials = 0;
  while (!searcher.finished()) trials += searcher.ask(search::CandidatePool::kLargestAsk).proposals.size();
  return 1e6 * (thread_seconds() - before_s) / static_cast<double>(trials);
}

int commit_trials(std::size_t trials, const std::string& blocks, const std::filesystem::path& folder) {
  const auto environment = comm::Environment::start();
  const bool coordinates = environment->world().rank() == 0;
  const auto space =
      space::SearchSpace::parse(testing::config_from_yaml(space_of(blocks)), {{3, 32, 32}, 10});
  const auto objectives = objective::ObjectiveSet::parse(
      testing::config_from_yaml("[{maximize: validation_accuracy}, {minimize: flops}]"), nullptr,
      {{.name = "validation_accuracy", .range = {0, 1}}});
  NoWork evaluator;
  store::JournalHeader header;
  header.skyline_version = header.config_hash = "0";
  header.metrics = {{.name = "validation_accuracy"}};
  const store::RunPaths paths{folder};
  store::StorageThread storage;
  engine::SearchTask task{space, objectives, evaluator, {}, {}, {}, {}};
  task.place.processors = environment->place().processors;
  const ConfigNode search =
      testing::config_from_yaml("{algorithm: random, trials: " + std::to_string(trials) + "}");
  double search_s = 0;
  const auto make_search = [&] { return search::make_searcher(search, space, objectives, 1); };
  task.search = [&](const run::RunState&) { return std::make_unique<TimedSearch>(make_search(), search_s); };
  task.options.keep_weights = engine::KeepWeights::kNone;
  task.options.coordinator_only = environment->world().size() > 1;

  task.options.resume = std::filesystem::exists(paths.journal());
  const int ranks = environment->world().size();
  const double bare_us =
      ranks > 1 ? bare_loop_us(std::min(trials, kBareTrials), ranks, environment->world().rank()) : 0;
  const double bytes_before = memory_bytes("VmRSS");
  const Usage before;
  std::optional<store::JournalContents> replay;
  if (coordinates) {
    std::filesystem::create_directories(paths.checkpoints());
    if (task.options.resume) {
      replay = store::read_journal(paths.journal(), space);
      store::republish_journal(paths.journal(), *replay);
    }
  }
  const engine::RunResult result =
      engine::run_job(*environment, task, {paths, header, storage}, {}, std::move(replay));
  if (coordinates) print(task.options.resume ? "resumed" : "fresh", trials, before, search_s, bytes_before);
  if (coordinates && ranks > 1) std::printf("  a bare loop over MPI: main thread %.1f\n", bare_us);
  if (coordinates) std::printf("  the search alone: main thread %.1f\n", search_alone_us(*make_search()));
  return 0;
}

}  // namespace
}  // namespace skyline

int main(int count, char** arguments) {
  if (count != 4) {
    std::fputs("rank_zero_bench: expected TRIALS BLOCKS FOLDER\n", stderr);
    return 2;
  }
  try {
    return skyline::commit_trials(std::stoul(arguments[1]), arguments[2], arguments[3]);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "rank_zero_bench: %s\n", problem.what());
    return 2;
  }
}
