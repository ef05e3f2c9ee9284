#include "bench/gpu_bench.hpp"

#include "skyline/core/error.hpp"

#include "train/device/host_accelerator.hpp"
#include "train/fixtures/train_fixtures.hpp"
#include "train/loading/load_accelerator.hpp"

#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace skyline::train::bench {
namespace {

constexpr std::size_t kSamples = 60'000;
constexpr std::size_t kSamplesOnHost = 1'200;

class UnrecordedStream final : public AcceleratorStream {
 public:
  explicit UnrecordedStream(std::unique_ptr<AcceleratorStream> stream) : stream_(std::move(stream)) {}
  void run(const std::function<void()>& work) override { stream_->run(work); }
  std::unique_ptr<AcceleratorGraph> capture(const std::function<void()>& /*work*/) override {
    throw UserError("this benchmark records nothing");
  }
  void wait() override { stream_->wait(); }

 private:
  std::unique_ptr<AcceleratorStream> stream_;
};

class UnrecordedAccelerator final : public Accelerator {
 public:
  explicit UnrecordedAccelerator(std::shared_ptr<Accelerator> on) : on_(std::move(on)) {}
  const std::vector<AcceleratorDevice>& devices() const override { return on_->devices(); }
  AcceleratorMemory memory(int device) const override { return on_->memory(device); }
  void release_cached_memory(int device) override { on_->release_cached_memory(device); }
  std::unique_ptr<AcceleratorStream> make_stream(int device) override {
    return std::make_unique<UnrecordedStream>(on_->make_stream(device));
  }
  void gather(const kernels::GatherPlan& plan) override { on_->gather(plan); }
  void dropout(const kernels::DropoutPlan& plan) override { on_->dropout(plan); }
  void batch_norm_forward(const kernels::BatchNormPlan& plan) override { on_->batch_norm_forward(plan); }
  void batch_norm_backward(const kernels::BatchNormPlan& plan) override { on_->batch_norm_backward(plan); }
  void cross_entropy(const kernels::CrossEntropyPlan& plan) override { on_->cross_entropy(plan); }
  void end_step(const kernels::StepEnd& end) override { on_->end_step(end); }
  std::unique_ptr<DeviceReducer> make_reducer(trial::TrialGroup& group, int device) override {
    return on_->make_reducer(group, device);
  }

 private:
  std::shared_ptr<Accelerator> on_;
};

GpuBench parse(int argc, char** argv) {
  GpuBench bench;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--host") {
      bench.host = true;
    } else if (word == "--data" && i + 1 < argc) {
      bench.data_file = argv[++i];
    } else {
      throw UserError("usage: " + std::string(argv[0]) + " [--data FILE] [--host]");
    }
  }
  return bench;
}

}  // namespace

std::unique_ptr<trial::Evaluator> GpuBench::evaluator(const TrainingOptions& options,
                                                      std::shared_ptr<Accelerator> on) const {
  return make_training_evaluator(options, Normalization::kStandard, data,
                                 test::split_in_two(trained_on(), held_out()), false, {std::move(on), 0});
}

bool BenchContext::due(double /*epochs_done*/) {
  return steps_between_saves_ && ++steps_ % *steps_between_saves_ == 0;
}

void BenchContext::save(const std::function<void(trial::TrainingState&)>& fill) {
  fill(state_);
  ++saves;
}

TrialFigures train(trial::Evaluator& evaluator, const trial::Trial& trial, BenchContext& context) {
  const trial::Outcome outcome = evaluator.evaluate(trial, context);
  if (const auto* failure = std::get_if<trial::Failure>(&outcome)) throw InternalError(failure->reason);
  const std::vector<double>& values = std::get<trial::Measurements>(outcome).values;
  return {values.front(), static_cast<std::int64_t>(values.back()), context.times.train_s};
}

std::shared_ptr<Accelerator> without_recording(std::shared_ptr<Accelerator> accelerator) {
  return std::make_shared<UnrecordedAccelerator>(std::move(accelerator));
}

nlohmann::json measure_widths(
    const GpuBench& bench, const char* name, std::vector<std::int64_t> widths, std::int64_t host_width,
    const std::function<nlohmann::json(const GpuBench&, trial::Evaluator&, std::int64_t)>& measure) {
  TrainingOptions options;
  options.batch = 64;
  const auto evaluator = bench.evaluator(options, bench.accelerator);
  if (bench.host) widths = {host_width};
  nlohmann::json networks = nlohmann::json::array();
  for (const std::int64_t width : widths) networks.push_back(measure(bench, *evaluator, width));
  return {{"benchmark", name}, {"networks", networks}};
}

int run_gpu_bench(int argc, char** argv, const std::function<nlohmann::json(const GpuBench&)>& measure) {
  try {
    GpuBench bench = parse(argc, argv);
    std::string reason;
    bench.accelerator = bench.host ? make_host_accelerator() : load_accelerator(reason);
    if (bench.accelerator == nullptr) throw UserError("no GPU to measure: " + reason);
    bench.real_data = !bench.data_file.empty();
    if (bench.real_data) {
      bench.data = store::Dataset::open(bench.data_file, false);
    } else {
      bench.data = std::make_shared<test::BarImages>(space::Shape{1, 28, 28}, 10,
                                                     bench.host ? kSamplesOnHost : kSamples, 0);
    }
    nlohmann::json document = measure(bench);
    document["device"] = bench.device().name;
    document["data"] = bench.real_data ? bench.data_file.filename().string() : "made up";
    std::cout << document.dump(2) << std::endl;
    return 0;
  } catch (const UserError& error) {
    std::cerr << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

}  // namespace skyline::train::bench
