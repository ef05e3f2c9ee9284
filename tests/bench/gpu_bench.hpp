#pragma once

#include "skyline/store/dataset.hpp"
#include "skyline/trial/evaluator.hpp"

#include "train/device/accelerator.hpp"
#include "train/evaluator/training_evaluator.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <nlohmann/json.hpp>

namespace skyline::train::bench {

/// The device on which a benchmark runs. `--host` stands the CPU in for the device and makes everything tiny,
/// to see that the program works; its figures say nothing.
struct GpuBench {
  std::shared_ptr<Accelerator> accelerator;
  bool host = false;
  std::shared_ptr<const store::Dataset> data;  // 28x28 grey images in ten classes
  bool real_data = false;                      // --data FILE, as `skyline prep mnist` writes it; else made up
  std::filesystem::path data_file;

  const AcceleratorDevice& device() const { return accelerator->devices().front(); }
  /// @param held_out  samples of the training set that measure the accuracy
  std::unique_ptr<trial::Evaluator> evaluator(const TrainingOptions& options,
                                              std::shared_ptr<Accelerator> on) const;
  std::size_t held_out() const { return data->train().count / 12; }
  std::size_t trained_on() const { return data->train().count - held_out(); }
};

/// A slot's context in a benchmark: never stops, saves each so many steps, or never.
class BenchContext final : public trial::EvaluationContext, trial::TrialControl, trial::TrialState {
 public:
  explicit BenchContext(std::optional<std::int64_t> steps_between_saves = std::nullopt)
      : steps_between_saves_(steps_between_saves) {}
  trial::TrialControl& control() override { return *this; }
  trial::TrialState& state() override { return *this; }
  trial::TrialWeights& weights() override { return no_weights_; }
  trial::TrialTiming& timing() override { return times; }
  trial::TrialGroup* group() override { return together; }

  trial::TrialTiming times;
  std::int64_t saves = 0;
  trial::TrialGroup* together = nullptr;

 private:
  bool stop_requested() const override { return false; }
  bool due(double epochs_done) override;
  void save(const std::function<void(trial::TrainingState&)>& fill) override;

  trial::TrialWeights no_weights_;
  std::optional<std::int64_t> steps_between_saves_;
  std::int64_t steps_ = 0;
  trial::TrainingState state_;
};

/// The part of a trial's measurements that a benchmark needs. @throws InternalError if the trial failed
struct TrialFigures {
  double accuracy = 0;
  std::int64_t steps = 0;
  double train_s = 0;
  double steps_per_s() const { return static_cast<double>(steps) / train_s; }
};
TrialFigures train(trial::Evaluator& evaluator, const trial::Trial& trial, BenchContext& context);

/// The same device, which records nothing: every step is launched kernel by kernel.
std::shared_ptr<Accelerator> without_recording(std::shared_ptr<Accelerator> accelerator);

/// The results of `measure` for networks of these widths, or of `host_width` alone with `--host`, as
/// {"benchmark": name, "networks": [...]}; all trained in batches of 64.
nlohmann::json measure_widths(
    const GpuBench& bench, const char* name, std::vector<std::int64_t> widths, std::int64_t host_width,
    const std::function<nlohmann::json(const GpuBench&, trial::Evaluator&, std::int64_t)>& measure);

/// Prints one JSON document: the device and what `measure` found. 0, or 2 if there is no GPU to measure.
int run_gpu_bench(int argc, char** argv, const std::function<nlohmann::json(const GpuBench&)>& measure);

}  // namespace skyline::train::bench
