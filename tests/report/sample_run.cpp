#include "report/sample_run.hpp"

#include "support/cnn_space.hpp"
#include "support/sample_metrics.hpp"
#include "support/yaml_config.hpp"

#include <cmath>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace skyline::testing {
namespace {

constexpr std::uint64_t kIdDigits = 0x1111111111111111;

}  // namespace

space::SearchSpace sample_space() {
  return space::SearchSpace::parse(config_from_yaml(kCnnSpace, "space.yaml", "space"), {{1, 8, 8}, 10});
}

std::vector<trial::Metric> sample_metrics() {
  return {validation_accuracy(), latency_ms(), test_accuracy(), {.name = "steps", .range = {.low = 0}}};
}

objective::ObjectiveSet sample_objectives() {
  const ConfigNode objectives = config_from_yaml(
      "[{maximize: validation_accuracy}, {minimize: flops, reference: 500000000, ideal: 50000}]");
  const ConfigNode constraints = config_from_yaml("[{parameters: [0, 1.0e6]}, {latency_ms: [0, 5]}]");
  return objective::ObjectiveSet::parse(objectives, &constraints, sample_metrics());
}

trial::Measurements measured(double validation_accuracy, double latency_ms) {
  return {{validation_accuracy, latency_ms, std::nan(""), 42}};
}

trial::CommittedTrial make_trial(const space::SearchSpace& space, const SampleTrial& sample) {
  auto architecture = std::make_shared<space::Architecture>(space.build({sample.choices}));
  // Readable ids, e.g. 2111... for choices that start with 1: equal genotypes have equal ids.
  const std::uint64_t first = sample.choices.front() + 1;
  architecture->id = space::ArchId{kIdDigits * first};
  architecture->cost = {sample.parameters, sample.flops, sample.flops / 2, 2048};

  trial::CommittedTrial committed;
  committed.trial.number = sample.number;
  committed.trial.proposal = {architecture, sample.origin, sample.parents, sample.iteration};
  committed.trial.proposal.budget = committed.trial.proposal.horizon = {sample.epochs};
  if (sample.phase == trial::Phase::kFinal) committed.trial.proposal.trains = sample.number;
  committed.outcome = sample.outcome;
  committed.timing = {.rank = 1,
                      .slot = 0,
                      .started_s = 0,
                      .setup_s = 0.5,
                      .train_s = 3,
                      .validate_s = 0.75,
                      .latency_s = 0.06};
  return committed;
}

SampleRun::SampleRun() {
  using trial::Failure;
  using trial::FailureKind;
  using trial::Origin;
  using trial::Phase;
  const SampleTrial samples[] = {
      {.number = 0, .choices = {0, 0, 0}, .parameters = 234, .flops = 88138, .outcome = measured(0.5, 0.123)},
      {.number = 1,
       .choices = {8, 1, 2},
       .parameters = 298442,
       .flops = 465200000,
       .outcome = measured(0.98125, 4.5)},
      {.number = 2,
       .choices = {1, 2, 1},
       .parameters = 26762,
       .flops = 9000000,
       .outcome = measured(0.45, 0.3),
       .origin = Origin::kMutation,
       .parents = {0},
       .iteration = 1},
      {.number = 3,
       .choices = {2, 1, 0},
       .parameters = 5000,
       .flops = 100000,
       .outcome = Failure{FailureKind::kDiverged, "the loss is NaN at step 12"},
       .origin = Origin::kCrossover,
       .parents = {0, 1},
       .iteration = 1},
      {.number = 1,
       .choices = {8, 1, 2},
       .parameters = 298442,
       .flops = 465200000,
       .outcome = trial::Measurements{{0.99, 4.5, 0.97, 840}},
       .origin = Origin::kFront,
       .phase = Phase::kFinal,
       .epochs = 10},
      {.number = 0,
       .choices = {0, 0, 0},
       .parameters = 234,
       .flops = 88138,
       .outcome = Failure{FailureKind::kOutOfMemory, "no room for \"conv2d_0\""},
       .origin = Origin::kFront,
       .phase = Phase::kFinal,
       .epochs = 10}};
  for (const SampleTrial& sample : samples) {
    committed.push_back(make_trial(space, sample));
    trial::CommittedTrial& made = committed.back();
    made.position = committed.size() - 1;
    made.trial.seed = 18446744073709551615U - made.position;  // beyond 2^63: must survive every file
    made.timing.started_s = 36.0 * static_cast<double>(made.position);
  }
}

run::RunState SampleRun::state() const {
  run::RunState state(objectives, repeats);
  for (trial::CommittedTrial trial : committed) {
    trial.position = state.trials().size();
    state.add({std::make_shared<const trial::CommittedTrial>(std::move(trial))});
  }
  return state;
}

SampleFolder::SampleFolder() {
  std::filesystem::create_directories(folder_ / "weights");
  std::filesystem::create_directories(folder_ / "logs");
}

void SampleFolder::write(const std::filesystem::path& path, const std::string& text) const {
  std::ofstream(path, std::ios::binary) << text;
}

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace skyline::testing
