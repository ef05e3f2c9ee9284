// Sums over the ranks of a job: a group's all_reduce beside MPI_Allreduce, in turns in one run.
//   mpirun -np 2 group_bench
// Prints, on rank 0, the median time of one sum of each size and their ratio. One member a rank.

#include "comm/environment.hpp"
#include "engine/group/group_hub.hpp"
#include "support/first_ranks.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <vector>

#include <mpi.h>

namespace skyline {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 15;

double microseconds_of(int repeats, const std::function<void()>& sum) {
  MPI_Barrier(MPI_COMM_WORLD);
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < repeats; ++i) sum();
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count() / repeats;
}

double median(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 2];
}

void compare(trial::TrialGroup& group, std::size_t bytes, int repeats, bool prints) {
  std::vector<float> values(bytes / sizeof(float), 1e-30F);
  std::vector<double> ours;
  std::vector<double> theirs;
  for (int round = 0; round < kRounds; ++round) {
    ours.push_back(microseconds_of(repeats, [&] { group.all_reduce(values)->wait(); }));
    theirs.push_back(microseconds_of(repeats, [&] {
      MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
    }));
  }
  if (!prints) return;
  std::printf(
      "%10zu bytes   group %9.1f us (best %9.1f)   MPI_Allreduce %9.1f us (best %9.1f)   %.2fx (best "
      "%.2fx)\n",
      bytes, median(ours), *std::ranges::min_element(ours), median(theirs), *std::ranges::min_element(theirs),
      median(theirs) / median(ours), *std::ranges::min_element(theirs) / *std::ranges::min_element(ours));
}

int run() {
  const auto environment = comm::Environment::start();
  const int ranks = environment->world().size();
  const auto hub = engine::GroupHub::make(*environment, true);
  if (!hub->spans_ranks()) {
    std::fputs("group_bench: start it with mpirun on 2 ranks or more\n", stderr);
    return 2;
  }
  {
    const auto views = hub->join({1, static_cast<std::size_t>(ranks), testing::first_ranks(ranks)});
    const bool prints = environment->world().rank() == 0;
    compare(*views.front(), 4'000, 200, prints);
    compare(*views.front(), 400'000, 20, prints);
    compare(*views.front(), 40'000'000, 1, prints);
  }
  hub->close();
  return 0;
}

}  // namespace
}  // namespace skyline

int main() {
  return skyline::run();
}
