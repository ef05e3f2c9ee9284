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

TrainingSetup make_setup(comm::Environment& job, TrainingOptions options,
                         std::shared_ptr<const store::Dataset> dataset, store::SplitIndices split,
                         Normalization normalization) {
  evaluate::JobRanks ranks(job);
  DeviceUse device =
      choose_device(ranks, evaluate::place_of(job), {.choice = options.device}, load_accelerator);
  if (device.accelerator == nullptr) {
    device = {make_host_accelerator(Kernels::kOwn), 0};
    if (options.precision == Precision::kTf32) options.precision = Precision::kFp32;
  }
  at::set_num_threads(options.threads);
  std::vector<std::int64_t> test(dataset->test().count);
  std::iota(test.begin(), test.end(), 0);
  const ValueScaling scaling(*dataset, normalization);
  auto context = std::make_shared<DeviceContext>(device, dataset, scaling);
  context->set_precision(options.precision);
  return {fit_to_data(options, *dataset, split),
          std::move(dataset),
          std::move(split),
          scaling,
          false,
          std::move(test),
          std::move(device),
          std::move(context)};
}

}  // namespace skyline::train
