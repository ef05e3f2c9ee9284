/// Measures what checkpoints cost a slot, for scripts/bench/checkpoint: trains a network for some epochs,
/// without checkpoints, with asynchronous ones or with ones that the slot waits for, and prints a line:
/// parameters train_s slot_cpu_s save_s save_cpu_s storage_cpu_s snapshots.
#include "skyline/core/error.hpp"

#include "comm/environment.hpp"
#include "core/system/process.hpp"
#include "engine/slots/checkpoints.hpp"
#include "engine/work/run_files.hpp"
#include "support/cpu_seconds.hpp"
#include "support/yaml_config.hpp"
#include "train/fixtures/train_fixtures.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

namespace skyline::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kBatch = 32;

struct Mode {
  const char* name;
  std::optional<CheckpointOptions> options;
  bool waits;  // waits until each checkpoint is on the disk
};

std::vector<Mode> modes() {
  const CheckpointOptions each_epoch{.interval_s = std::nullopt, .interval_epochs = 1};
  const CheckpointOptions each_two_seconds{.interval_s = 2, .interval_epochs = std::nullopt};
  return {{"none", std::nullopt, false},
          {"epoch", each_epoch, false},
          {"2s", each_two_seconds, false},
          {"epoch-waiting", each_epoch, true},
          {"2s-waiting", each_two_seconds, true}};
}

struct Turn {
  double train_s = 0;
  double slot_cpu_s = 0;
  double save_s = 0;  // time of the slot: copying, and waiting if it does
  double save_cpu_s = 0;
  double storage_cpu_s = 0;
  int snapshots = 0;
};

/// A slot's services to its evaluator, with the time of saves measured.
class MeasuredContext final : public trial::EvaluationContext, trial::TrialControl, trial::TrialState {
 public:
  MeasuredContext(SlotCheckpoints& checkpoints, store::StorageThread& storage, bool waits)
      : checkpoints_(checkpoints), storage_(storage), waits_(waits) {}
  trial::TrialControl& control() override { return *this; }
  trial::TrialState& state() override { return *this; }
  trial::TrialWeights& weights() override { return no_weights_; }
  trial::TrialGroup* group() override { return nullptr; }
  trial::TrialTiming& timing() override { return times; }
  bool stop_requested() const override { return false; }
  bool due(double epochs_done) override { return checkpoints_.due(epochs_done); }
  void save(const std::function<void(trial::TrainingState&)>& fill) override {
    const Clock::time_point start = Clock::now();
    const double cpu_before = testing::thread_cpu_seconds();
    checkpoints_.save(fill);
    if (waits_) storage_.drain();
    turn.save_cpu_s += testing::thread_cpu_seconds() - cpu_before;
    turn.save_s += std::chrono::duration<double>(Clock::now() - start).count();
    ++turn.snapshots;
  }

  Turn turn;
  trial::TrialTiming times;

 private:
  SlotCheckpoints& checkpoints_;
  store::StorageThread& storage_;
  trial::TrialWeights no_weights_;
  bool waits_;
};

/// Linear layers have the most state for the least work: the worst case.
space::Network network(std::int64_t width) {
  return train::test::NetworkBuilder({1, 28, 28})
      .flatten()
      .linear(width)
      .relu()
      .linear(width)
      .relu()
      .linear(10)
      .build();
}

std::int64_t parameter_count(const space::Network& of) {
  std::int64_t count = 0;
  for (const space::Layer& layer : of.layers) {
    for (const space::TensorSpec& tensor : layer.tensors) count += tensor.elements();
  }
  return count;
}

class Bench {
 public:
  Bench(std::filesystem::path folder, std::size_t samples)
      : paths_{std::move(folder)}, environment_(comm::Environment::start()) {
    std::filesystem::create_directories(paths_.checkpoints());
    train::TrainingOptions options;
    options.batch = kBatch;
    const auto data = std::make_shared<train::test::BarImages>(space::Shape{1, 28, 28}, 10, samples, 0);
    evaluator_ = train::make_training_evaluator(options, train::Normalization::kUnit, data,
                                                train::test::split_in_two(samples, 0), false);
    // The storage thread, made before, stays free to run on the others.
    const std::vector<int> processors = allowed_processors();
    bind_this_thread(processors.back());
  }

  Turn train(std::int64_t width, double epochs, const Mode& mode) {
    const trial::Trial trial = train::test::make_trial(network(width), epochs, 1);
    const RunFiles files{paths_, {}, storage_};
    const auto folder = std::make_shared<CheckpointFolder>(files, mode.options, false);
    SlotCheckpoints checkpoints(folder, never_);
    checkpoints.begin(trial);
    MeasuredContext context(checkpoints, storage_, mode.waits);
    const double storage_before = storage_cpu_seconds();
    const double slot_before = testing::thread_cpu_seconds();
    evaluator_->evaluate(trial, context);
    context.turn.slot_cpu_s = testing::thread_cpu_seconds() - slot_before;
    context.turn.storage_cpu_s = storage_cpu_seconds() - storage_before;
    context.turn.train_s = context.times.train_s;
    storage_.submit([&] { folder->remove_now(trial.name(), 1); });
    storage_.drain();
    return context.turn;
  }

 private:
  /// After all that is queued.
  double storage_cpu_seconds() {
    return call_storage<double>(storage_, [] { return testing::thread_cpu_seconds(); });
  }

  store::RunPaths paths_;
  std::unique_ptr<comm::Environment> environment_;
  std::unique_ptr<trial::Evaluator> evaluator_;
  store::StorageThread storage_;
  // Not used by checkpoints, but part of what a run is given.
  std::atomic<bool> never_{false};
};

/// One turn, in a process of its own: what earlier ones left in memory and page cache must not speak.
void measure(const std::filesystem::path& folder, std::int64_t width, std::size_t samples, double epochs,
             const std::string& mode_name) {
  const std::vector<Mode> all = modes();
  const auto mode = std::ranges::find(all, mode_name, &Mode::name);
  if (mode == all.end()) throw UserError("no mode of checkpoints: " + mode_name);
  Bench bench(folder, samples);
  bench.train(width, 20.0 * kBatch / static_cast<double>(samples), all.front());  // warms up
  const Turn turn = bench.train(width, epochs, *mode);
  std::cout << parameter_count(network(width)) << ' ' << turn.train_s << ' ' << turn.slot_cpu_s << ' '
            << turn.save_s << ' ' << turn.save_cpu_s << ' ' << turn.storage_cpu_s << ' ' << turn.snapshots
            << '\n';
}

}  // namespace
}  // namespace skyline::engine

int main(int argc, char** argv) {
  try {
    if (argc != 6) throw skyline::UserError("usage: checkpoint_bench FOLDER WIDTH SAMPLES EPOCHS MODE");
    skyline::engine::measure(argv[1], std::stol(argv[2]), std::stoul(argv[3]), std::stod(argv[4]), argv[5]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
