#include "train/batches/training_setup.hpp"

#include "evaluate/job_ranks.hpp"
#include "train/batches/device_dataset.hpp"
#include "train/device/host_accelerator.hpp"
#include "train/loading/device_choice.hpp"
#include "train/loading/load_accelerator.hpp"
#include "train/options/training_check.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <ATen/Parallel.h>

namespace skyline::train {
namespace {

/// Returns the chosen rows of an array of so many samples, and all of another one after them.
template <typename Variant>
auto joined(const Variant& values, std::size_t samples, std::span<const std::int64_t> chosen,
            const Variant& others) {
  return std::visit(
      [&](auto from) {
        const std::size_t each = from.size() / samples;
        std::vector<std::remove_const_t<typename decltype(from)::element_type>> rows;
        const auto after = std::get<decltype(from)>(others);
        rows.reserve(chosen.size() * each + after.size());
        for (const std::int64_t index : chosen) {
          const auto row = from.subspan(static_cast<std::size_t>(index) * each, each);
          rows.insert(rows.end(), row.begin(), row.end());
        }
        rows.insert(rows.end(), after.begin(), after.end());
        store::Samples made;
        if constexpr (std::is_same_v<Variant, decltype(store::SampleView::values)>) {
          made.values = std::move(rows);
        } else {
          made.targets = std::move(rows);
        }
        return made;
      },
      values);
}

/// A data set whose training set is a part of another one's and its stored validation set after it, as a
/// copy. All else is as it is there; the training set's mean and deviation, too.
class JoinedDataset final : public store::Dataset {
 public:
  /// @param train  indices of the training samples to take
  JoinedDataset(std::shared_ptr<const store::Dataset> dataset, std::span<const std::int64_t> train);

  const space::Shape& shape() const override { return dataset_->shape(); }
  const std::vector<std::string>& class_names() const override { return dataset_->class_names(); }
  const std::vector<double>& mean() const override { return dataset_->mean(); }
  const std::vector<double>& deviation() const override { return dataset_->deviation(); }
  double value_scale() const override { return dataset_->value_scale(); }
  const store::SampleView& train() const override { return view_; }
  const store::SampleView& validation() const override { return dataset_->validation(); }
  const store::SampleView& test() const override { return dataset_->test(); }
  const std::string& content_hash() const override { return dataset_->content_hash(); }
  std::string preparation() const override { return dataset_->preparation(); }
  void check_unchanged() const override { dataset_->check_unchanged(); }

 private:
  std::shared_ptr<const store::Dataset> dataset_;
  store::Samples samples_;
  store::SampleView view_;
};

JoinedDataset::JoinedDataset(std::shared_ptr<const store::Dataset> dataset,
                             std::span<const std::int64_t> train)
    : dataset_(std::move(dataset)) {
  const store::SampleView& trained = dataset_->train();
  const store::SampleView& validation = dataset_->validation();
  samples_.values = joined(trained.values, trained.count, train, validation.values).values;
  samples_.targets = joined(trained.targets, trained.count, train, validation.targets).targets;
  view_ = samples_.view(class_names().size());
}

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
