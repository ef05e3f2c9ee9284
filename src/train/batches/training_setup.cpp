#include "train/batches/training_setup.hpp"

#include "evaluate/job_ranks.hpp"
#include "train/batches/device_dataset.hpp"
#include "train/batches/joined_dataset.hpp"
#include "train/device/host_accelerator.hpp"
#include "train/loading/device_choice.hpp"
#include "train/loading/load_accelerator.hpp"
#include "train/options/training_check.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include <ATen/Parallel.h>

namespace skyline::train {
namespace {

/// Makes the context of a setup's device, or of the CPU if it has no accelerator.
std::shared_ptr<DeviceDataset> context_for(const TrainingSetup& setup, Precision precision) {
  const DeviceUse host{make_host_accelerator(Kernels::kOwn)};
  auto context = std::make_shared<DeviceDataset>(setup.device.accelerator != nullptr ? setup.device : host,
                                                 setup.dataset, setup.scaling, setup.teacher);
  context->set_precision(precision);
  return context;
}

}  // namespace

TrainingSetup setup_for(const DeviceUse& device, const TrainingOptions& options,
                        const std::shared_ptr<const store::Dataset>& dataset, store::SplitIndices split,
                        Normalization normalization, std::shared_ptr<const store::Teacher> teacher) {
  TrainingSetup setup{.options = adapt_to_data(options, *dataset, split),
                      .dataset = dataset,
                      .split = std::move(split),
                      .scaling = ValueScaling(*dataset, normalization),
                      .test_indices = std::vector<std::int64_t>(dataset->test().count),
                      .calibration = {},
                      .columns = number_columns(*dataset),
                      .device = device,
                      .teacher = std::move(teacher),
                      .on_device = nullptr};
  std::iota(setup.test_indices.begin(), setup.test_indices.end(), 0);
  setup.on_device = context_for(setup, options.precision);
  return setup;
}

TrainingSetup on_host(const TrainingSetup& setup) {
  if (setup.on_device->device().is_cpu()) return setup;
  TrainingSetup host = setup;
  host.device = {};
  host.on_device = context_for(host, Precision::kFp32);
  return host;
}

TrainingSetup setup_of_refit(const TrainingSetup& setup) {
  TrainingSetup refit = setup;
  refit.split = {};
  if (!setup.split.stored) {
    std::ranges::merge(setup.split.train, setup.split.validation, std::back_inserter(refit.split.train));
  } else {
    refit.dataset = std::make_shared<JoinedDataset>(setup.dataset, setup.split.train);
    refit.split.train.resize(refit.dataset->train().count);
    std::iota(refit.split.train.begin(), refit.split.train.end(), 0);
    refit.on_device = context_for(refit, setup.options.precision);
  }
  refit.options = adapt_to_data(refit.options, *refit.dataset, refit.split);
  return refit;
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
