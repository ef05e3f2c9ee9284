// Hypervolume and the archive on two kinds of points: `uniform` in the cube, where fronts are small, and
// `trade_off` around a plane, where most points are on the front.
#include "skyline/search/pareto.hpp"

#include "support/random_points.hpp"

#include <benchmark/benchmark.h>

namespace skyline::search {
namespace {

enum Kind : std::int64_t { kUniform, kTradeOff };

std::vector<double> points(benchmark::State& state) {
  state.SetLabel(state.range(2) == kTradeOff ? "trade_off" : "uniform");
  RandomStream random(1);
  const auto count = static_cast<std::size_t>(state.range(0));
  const auto columns = static_cast<std::size_t>(state.range(1));
  if (state.range(2) == kTradeOff) return testing::trade_off_points(random, count, columns);
  std::vector<double> values(count * columns);
  for (double& value : values) value = random.uniform();
  return values;
}

void hypervolume_of_points(benchmark::State& state) {
  const std::vector<double> values = points(state);
  const std::vector<double> reference(static_cast<std::size_t>(state.range(1)), 2.0);
  for (auto _ : state) benchmark::DoNotOptimize(hypervolume(values, reference));
}

/// All points into an empty archive, one after the other.
void archive_inserts(benchmark::State& state) {
  const std::vector<double> values = points(state);
  const auto columns = static_cast<std::size_t>(state.range(1));
  const std::size_t count = values.size() / columns;
  for (auto _ : state) {
    ParetoArchive archive(columns);
    for (std::size_t key = 0; key < count; ++key) {
      archive.insert(key, std::span(values).subspan(key * columns, columns));
    }
    benchmark::DoNotOptimize(archive.size());
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(count) * state.iterations());
}

/// Points, columns, kind. Fronts of trade-offs grow with the points, so what costs their square stops
/// earlier.
void sizes(benchmark::internal::Benchmark* bench, std::int64_t largest_trade_off) {
  bench->ArgNames({"n", "m", "kind"})->Unit(benchmark::kMicrosecond);
  for (std::int64_t columns = 2; columns <= 4; ++columns) {
    for (std::int64_t count = 100; count <= 100'000; count *= 10) bench->Args({count, columns, kUniform});
    for (std::int64_t count = 100; count <= largest_trade_off; count *= 10) {
      bench->Args({count, columns, kTradeOff});
    }
  }
}

BENCHMARK(archive_inserts)->Apply([](auto* bench) { sizes(bench, 10'000); });
BENCHMARK(hypervolume_of_points)->Apply([](auto* bench) { sizes(bench, 1'000); });

}  // namespace
}  // namespace skyline::search
