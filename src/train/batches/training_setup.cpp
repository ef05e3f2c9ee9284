#include "train/batches/training_setup.hpp"

#include "evaluate/job_ranks.hpp"
#include "train/batches/device_context.hpp"
#include "train/device/host_accelerator.hpp"
#include "train/loading/device_choice.hpp"
#include "train/loading/load_accelerator.hpp"
#include "train/options/training_check.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <ATen/Parallel.h>

namespace skyline::train {

std::int64_t steps_per_epoch(std::size_t samples, std::int64_t batch) {
  return (static_cast<std::int64_t>(samples) + batch - 1) / batch;
}

std::int64_t steps_for(double epochs, std::size_t samples, std::int64_t batch) {
  const auto whole = static_cast<double>(steps_per_epoch(samples, batch));
  return std::max<std::int64_t>(1, std::llround(epochs * whole));
}

TrainingSetup setup_for(const DeviceUse& device, const TrainingOptions& options,
                        const std::shared_ptr<const store::Dataset>& dataset, store::SplitIndices split,
                        Normalization normalization) {
  TrainingSetup setup{.options = fit_to_data(options, *dataset, split),
                      .dataset = dataset,
                      .split = std::move(split),
                      .scaling = ValueScaling(*dataset, normalization),
                      .test_indices = std::vector<std::int64_t>(dataset->test().count),
                      .device = device,
                      .on_device = nullptr};
  std::iota(setup.test_indices.begin(), setup.test_indices.end(), 0);
  const DeviceUse host{make_host_accelerator(Kernels::kOwn)};
  setup.on_device =
      std::make_shared<DeviceContext>(device.accelerator != nullptr ? device : host, dataset, setup.scaling);
  setup.on_device->set_precision(options.precision);
  return setup;
}

TrainingSetup make_setup(comm::Environment& job, TrainingOptions options,
                         const std::shared_ptr<const store::Dataset>& dataset, store::SplitIndices split,
                         Normalization normalization) {
  evaluate::JobRanks ranks(job);
  DeviceUse device =
      choose_device(ranks, evaluate::place_of(job), {.choice = options.device}, load_accelerator);
  if (device.accelerator == nullptr) {
    device = {make_host_accelerator(Kernels::kOwn), 0};
    if (options.precision == Precision::kTf32) options.precision = Precision::kFp32;
  }
  at::set_num_threads(options.threads);
  return setup_for(device, options, dataset, std::move(split), normalization);
}

}  // namespace skyline::train
