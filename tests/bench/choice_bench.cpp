// Trials that `skyline` chooses a second, after so many trials with results: in a space of parameters alone,
// with one objective, and in the one of configs/mobilenet.yaml, with an exact and a measured one. Eight
// trials are under way, which are chosen at once (batch: 8) or each after a result (batch: 1), on one thread
// or two. Items per second of wall time; beside it the processor time of all threads.
//   choice_bench --benchmark_filter=numbers
#include "skyline/search/algorithm.hpp"

#include "support/yaml_config.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <benchmark/benchmark.h>

namespace skyline::search {
namespace {

constexpr std::size_t kWindow = 8;
constexpr std::size_t kChoices = 240;  // some hundred, so that the fits of hyper-parameters among them count

/// Values are smooth in the choices, and noisy by a hundredth of their range.
double value_of(const trial::Trial& trial) {
  double value = 0;
  double weight = 1;
  for (const std::uint32_t choice : trial.architecture().genotype.choices) {
    value -= weight * std::cos(0.4 * choice - weight);
    weight *= 0.9;
  }
  return value +
         0.02 * static_cast<double>(static_cast<std::uint64_t>(trial.architecture().id) % 1000) / 1000;
}

/// A search whose first trials are random ones with results, as if it had been resumed.
class KnownSearch {
 public:
  KnownSearch(const space::SearchSpace& space, const std::string& objectives, std::size_t known,
              std::size_t batch, std::size_t threads)
      : batch_(batch) {
    const auto set = objective::ObjectiveSet::parse(testing::config_from_yaml(objectives), nullptr,
                                                    {{.name = "accuracy"}});
    const auto made = [&](const std::string& section) {
      return make_searcher(testing::config_from_yaml(section), space, set, 1);
    };
    searcher_ = made("{algorithm: skyline, trials: 1000000, batch: " + std::to_string(batch) + "}");
    searcher_->think_on([threads] { return threads; });
    const auto random = made("{algorithm: random, trials: " + std::to_string(known) + "}");
    while (told_ < known) {
      for (const trial::Proposal& proposal : random->ask(known - told_).proposals) {
        under_way_.push_back(proposal);
        if (searcher_->accept(proposal)) tell_next();
      }
    }
    while (under_way_.size() < kWindow) ask();  // with the first fit to all
  }

  /// Tells the results of as many trials as a batch has, and takes the next batch.
  void choose() {
    for (std::size_t i = 0; i < batch_; ++i) tell_next();
    ask();
  }

 private:
  void ask() {
    for (std::size_t asked = 0; asked < batch_;) {
      Answer answer = searcher_->ask(batch_ - asked);
      if (answer.proposals.empty()) std::this_thread::sleep_for(std::chrono::microseconds(100));
      asked += answer.proposals.size();
      std::ranges::move(answer.proposals, std::back_inserter(under_way_));
    }
  }
  void tell_next() {
    trial::CommittedTrial committed;
    committed.trial.number = told_++;
    committed.trial.proposal = std::move(under_way_.front());
    under_way_.pop_front();
    committed.outcome = trial::Measurements{{value_of(committed.trial)}};
    searcher_->tell(committed);
  }

  const std::size_t batch_;
  std::unique_ptr<Searcher> searcher_;
  std::deque<trial::Proposal> under_way_;
  std::size_t told_ = 0;
};

void choose(benchmark::State& state, const space::SearchSpace& space, const std::string& objectives) {
  const auto batch = static_cast<std::size_t>(state.range(1));
  KnownSearch search(space, objectives, static_cast<std::size_t>(state.range(0)), batch,
                     static_cast<std::size_t>(state.range(2)));
  for (auto _ : state) {
    for (std::size_t made = 0; made < kChoices; made += batch) search.choose();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kChoices));
}

void numbers(benchmark::State& state) {
  const auto space = space::SearchSpace::parse(testing::config_from_yaml(R"(
parameters:
  rate: {range: [0, 49]}
  decay: {range: [0, 19]}
  momentum: {range: [0, 9]}
  width: {range: [1, 32]}
  depth: {range: [1, 8]}
  batch: {choice: [16, 32, 64, 128]}
  optimizer: {choice: [sgd, adam, lion]}
  schedule: {choice: [constant, cosine, linear]}
)"),
                                               {});
  choose(state, space, "[{maximize: accuracy}]");
}

void mobilenet(benchmark::State& state) {
  std::ifstream file(SKYLINE_SOURCE_DIR "/configs/mobilenet.yaml");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto space = space::SearchSpace::parse(testing::config_from_yaml(text).at("space"), {{1, 8, 8}, 10});
  choose(state, space, "[{maximize: accuracy}, {minimize: macs}]");
}

void measured(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgsProduct({{1000, 5000}, {1, 8}, {1, 2}})->ArgNames({"known", "batch", "threads"});
  benchmark->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();
}

BENCHMARK(numbers)->Apply(measured);
BENCHMARK(mobilenet)->Apply(measured);

}  // namespace
}  // namespace skyline::search
