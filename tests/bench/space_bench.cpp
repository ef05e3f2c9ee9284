// Genotypes drawn from a space and their networks built, one after the other: the reference's space on
// MNIST's shape, and the worked spaces of configs/ on that of the digits.
#include "skyline/space/search_space.hpp"

#include "support/cnn_space.hpp"
#include "support/yaml_config.hpp"

#include <fstream>
#include <iterator>
#include <string>

#include <benchmark/benchmark.h>

namespace skyline::space {
namespace {

void draw_and_build(benchmark::State& state, const SearchSpace& space) {
  RandomStream random(1);
  for (auto _ : state) {
    try {
      benchmark::DoNotOptimize(space.build(space.sample(random)));
    } catch (const std::exception&) {  // shapes that do not fit
    }
  }
  state.SetItemsProcessed(state.iterations());
}

void reference(benchmark::State& state) {
  draw_and_build(state, SearchSpace::parse(testing::config_from_yaml(testing::kCnnSpace), {{1, 28, 28}, 10}));
}

void worked(benchmark::State& state, const char* name) {
  std::ifstream file(std::string(SKYLINE_SOURCE_DIR "/configs/") + name + ".yaml");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  draw_and_build(state, SearchSpace::parse(testing::config_from_yaml(text).at("space"), {{1, 8, 8}, 10}));
}

BENCHMARK(reference)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(worked, resnet, "resnet")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(worked, nasbench201, "nasbench201")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(worked, darts, "darts")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(worked, vit, "vit")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace skyline::space
