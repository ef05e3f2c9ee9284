/// Measures what a device gains from training several candidates at once: 16 different networks one by one,
/// then 4, 8 and 16 at a time, all with recorded steps; and whether memory stays flat over many candidates.
#include "bench/gpu_bench.hpp"
#include "train/fixtures/train_fixtures.hpp"

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace skyline::train::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCandidates = 16;

/// 1 to 4 layers, widths 8 to 32: no two alike.
trial::Trial candidate(int index, double epochs) {
  const int layers = 1 + index % 4;
  const std::int64_t width = 8 * (1 + index / 4 % 4);
  trial::Trial trial = test::make_trial(test::conv_network({1, 28, 28}, layers, 3, width, 10), epochs,
                                        static_cast<std::uint64_t>(index));
  trial.number = static_cast<trial::TrialNumber>(index);
  return trial;
}

struct Throughput {
  std::int64_t steps = 0;
  double wall_s = 0;
  double steps_per_s() const { return static_cast<double>(steps) / wall_s; }
};

/// `count` candidates on so many slots.
/// @param warm_up     candidates that the same threads train before, uncounted: LibTorch keeps memory for
/// threads
/// @param warmed_up   called then
Throughput train_all(trial::Evaluator& evaluator, int count, std::size_t slots, double epochs,
                     int warm_up = 0, const std::function<void()>& warmed_up = {}) {
  std::atomic<int> next = 0;
  std::atomic<std::int64_t> steps = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  Clock::time_point start = Clock::now();
  std::barrier warm(static_cast<std::ptrdiff_t>(slots), [&]() noexcept {
    if (warmed_up) warmed_up();
    next = 0;
    steps = 0;
    start = Clock::now();
  });
  const auto train_up_to = [&](int most) {
    for (int index = next++; index < most; index = next++) {
      BenchContext context;
      steps += train(evaluator, candidate(index, epochs), context).steps;
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t slot = 0; slot < slots; ++slot) {
    threads.emplace_back([&] {
      try {
        train_up_to(warm_up);
        warm.arrive_and_wait();
        train_up_to(count);
      } catch (...) {
        warm.arrive_and_drop();
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return {steps, std::chrono::duration<double>(Clock::now() - start).count()};
}

nlohmann::json measure(const GpuBench& bench) {
  TrainingOptions options;
  options.batch = 64;
  const auto evaluator = bench.evaluator(options, bench.accelerator);
  const double epochs = bench.host ? 0.1 : 1;
  const double epochs_of_many = bench.host ? 0.05 : 0.3;  // long enough to be recorded
  const int many = bench.host ? 20 : 300;
  train_all(*evaluator, kCandidates, 1, bench.host ? 0.05 : 0.5);  // chooses algorithms
  const Throughput in_turn = train_all(*evaluator, kCandidates, 1, epochs);
  nlohmann::json at_once;
  for (const int slots : {4, 8, kCandidates}) {
    const double steps_per_s =
        train_all(*evaluator, kCandidates, static_cast<std::size_t>(slots), epochs).steps_per_s();
    at_once[std::to_string(slots)] = {{"steps_per_s", steps_per_s},
                                      {"over_in_turn", steps_per_s / in_turn.steps_per_s()}};
  }
  AcceleratorMemory before;
  const Throughput all = train_all(*evaluator, many, kCandidates, epochs_of_many, many / 10,
                                   [&] { before = bench.accelerator->memory(0); });
  const AcceleratorMemory after = bench.accelerator->memory(0);
  return {{"benchmark", "packing"},
          {"candidates", kCandidates},
          {"in_turn_steps_per_s", in_turn.steps_per_s()},
          {"at_once", at_once},
          {"candidates_for_memory", many},
          {"candidates_per_s", many / all.wall_s},
          {"reserved_bytes_before", before.reserved_bytes},
          {"reserved_bytes_after", after.reserved_bytes},
          {"allocated_bytes_before", before.allocated_bytes},
          {"allocated_bytes_after", after.allocated_bytes}};
}

}  // namespace
}  // namespace skyline::train::bench

int main(int argc, char** argv) {
  return skyline::train::bench::run_gpu_bench(argc, argv, skyline::train::bench::measure);
}
