// Weak scaling of a trial over ranks: 64 samples a member and step, about 11 MFLOP a sample.
//   mpirun -np 2 group_scaling_bench [--rounds N] [--steps N] [--synchronized] [--sharded]
// Rank 0 alone, all ranks apart from each other, and all as a group train in turns in one run, so that what
// else the machine does disturbs them alike. Prints, on rank 0, samples a second, and the medians over the
// rounds of the group's speed as a share of `ranks` times that of rank 0 alone, and of that of all ranks
// apart. scripts/bench/group_scaling runs it.

#include "skyline/core/error.hpp"

#include "comm/environment.hpp"
#include "engine/group/group_hub.hpp"
#include "support/cpu_seconds.hpp"
#include "support/first_ranks.hpp"
#include "train/evaluator/training_evaluator.hpp"
#include "train/fixtures/train_fixtures.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

namespace skyline {
namespace {

constexpr std::size_t kSamplesOfMember = 64;
constexpr space::Shape kShape{1, 28, 28};
constexpr int kLayers = 4;
constexpr std::int64_t kWidth = 16;

struct Settings {
  int rounds = 9;
  std::size_t steps = 25;
  train::GroupOptions group;
};

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--rounds" && i + 1 < argc) {
      settings.rounds = std::stoi(argv[++i]);
    } else if (word == "--steps" && i + 1 < argc) {
      settings.steps = std::stoul(argv[++i]);
    } else if (word == "--synchronized") {
      settings.group.statistics = train::GroupOptions::Statistics::kSynchronized;
    } else if (word == "--sharded") {
      settings.group.sharding = train::GroupOptions::Sharding::kOptimizer;
    } else {
      throw UserError("group_scaling_bench: what is `" + word + "`?");
    }
  }
  return settings;
}

struct Speed {
  double samples_a_second = 0;  // speed of all members together
  double cpu_us_a_sample = 0;   // CPU time of this rank
};

/// Trains for an epoch of `steps` steps. @param group  nullptr: alone
Speed train_epoch(const Settings& settings, trial::TrialGroup* group) {
  const std::size_t members = group == nullptr ? 1 : group->members();
  const std::size_t samples = settings.steps * kSamplesOfMember * members;
  train::TrainingOptions options;
  options.batch = static_cast<std::int64_t>(kSamplesOfMember * members);
  options.group = settings.group;
  const auto evaluator = train::make_training_evaluator(
      options, train::Normalization::kUnit, std::make_shared<train::test::BarImages>(kShape, 10, samples, 1),
      train::test::split_in_two(samples, 0), false);
  trial::Trial trial =
      train::test::make_trial(train::test::conv_network(kShape, kLayers, 3, kWidth, 10), 1, 1);
  trial.members = static_cast<std::uint32_t>(members);
  train::test::RecordingContext context;
  context.in_group = group;
  const double cpu_before_s = testing::process_cpu_seconds();
  const trial::Outcome outcome = evaluator->evaluate(trial, context);
  const double cpu_s = testing::process_cpu_seconds() - cpu_before_s;
  if (const auto* failure = std::get_if<trial::Failure>(&outcome)) {
    throw UserError("group_scaling_bench: " + failure->reason);
  }
  const double member_samples = static_cast<double>(samples) / static_cast<double>(members);
  return {static_cast<double>(samples) / context.times.train_s, 1e6 * cpu_s / member_samples};
}

/// Waits for all ranks without using a processor that another one trains on.
void meet() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void measure(const Settings& settings, engine::GroupHub& hub, int rank, int ranks) {
  std::vector<double> of_alone;
  std::vector<double> of_apart;
  for (int round = 0; round < settings.rounds; ++round) {
    meet();
    const Speed alone = rank == 0 ? train_epoch(settings, nullptr) : Speed();
    meet();
    Speed apart = train_epoch(settings, nullptr);
    double sum = 0;
    MPI_Reduce(&apart.samples_a_second, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    apart.samples_a_second = sum;
    meet();
    const auto views = hub.join({static_cast<std::uint64_t>(round + 1), static_cast<std::size_t>(ranks),
                                 testing::first_ranks(ranks)});
    const Speed group = train_epoch(settings, views.front().get());
    if (rank == 0) {
      of_alone.push_back(group.samples_a_second / (ranks * alone.samples_a_second));
      of_apart.push_back(group.samples_a_second / apart.samples_a_second);
      std::printf("samples/s: alone %8.0f  apart %8.0f  group %8.0f   CPU us/sample: %6.1f %6.1f %6.1f\n",
                  alone.samples_a_second, apart.samples_a_second, group.samples_a_second,
                  alone.cpu_us_a_sample, apart.cpu_us_a_sample, group.cpu_us_a_sample);
      std::fflush(stdout);
    }
  }
  if (rank == 0) {
    std::printf("%d ranks as a group: %.3f of %d times one alone, %.3f of all apart (medians of %d rounds)\n",
                ranks, median(of_alone), ranks, median(of_apart), settings.rounds);
  }
}

int run(int argc, char** argv) {
  const Settings settings = parse(argc, argv);
  const auto environment = comm::Environment::start();
  const auto hub = engine::GroupHub::make(*environment, true);
  const int ranks = environment->world().size();
  if (!hub->spans_ranks()) {
    throw UserError("group_scaling_bench: start it with mpirun on 2 ranks or more");
  }
  measure(settings, *hub, environment->world().rank(), ranks);
  hub->close();
  return 0;
}

}  // namespace
}  // namespace skyline

int main(int argc, char** argv) {
  try {
    return skyline::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
