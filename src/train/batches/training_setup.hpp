#pragma once

#include "skyline/store/dataset.hpp"
#include "skyline/trial/trial.hpp"

#include "store/data/teacher.hpp"
#include "train/batches/batch_source.hpp"
#include "train/device/accelerator.hpp"
#include "train/options/training_options.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace skyline::comm {
class Environment;
}

namespace skyline::train {

class DeviceDataset;

/// State that all trials of an evaluator share. It never changes.
struct TrainingSetup {
  TrainingOptions options;
  std::shared_ptr<const store::Dataset> dataset;
  store::SplitIndices split;
  ValueScaling scaling;
  bool measure_latency = false;
  std::vector<std::int64_t> test_indices;    // all samples of the test set
  std::vector<std::int64_t> calibration;     // training samples for int8 networks; empty if there are none
  std::vector<store::TargetColumn> columns;  // number_columns() of the data set
  DeviceUse device;
  std::shared_ptr<const store::Teacher> teacher;  // nullptr if there is none
  std::shared_ptr<DeviceDataset> on_device;       // the device, or the CPU
};

/// Makes the setup for a device, or for the CPU if it has no accelerator, without measuring the latency.
/// @param teacher  of the training set; nullptr: options of one have no effect
TrainingSetup setup_for(const DeviceUse& device, const TrainingOptions& options,
                        const std::shared_ptr<const store::Dataset>& dataset, store::SplitIndices split,
                        Normalization normalization, std::shared_ptr<const store::Teacher> teacher = nullptr);

/// Returns the setup on the CPU, whatever the device is.
TrainingSetup on_host(const TrainingSetup& setup);

/// Returns the setup of a refit, which trains on the validation samples, too, and has none to score. A stored
/// validation set is copied beside the training set.
TrainingSetup setup_of_refit(const TrainingSetup& setup);

/// Makes the setup of a process that is not part of a job, on the device that the options ask for. tf32,
/// which needs a GPU, becomes fp32 on the CPU. @throws UserError if the device is missing
TrainingSetup make_setup(comm::Environment& job, TrainingOptions options,
                         const std::shared_ptr<const store::Dataset>& dataset, store::SplitIndices split,
                         Normalization normalization);

/// Returns the validation samples that score the trial; in the search this may be a part.
inline const std::vector<std::int64_t>& validation_of(const store::SplitIndices& split,
                                                      const trial::Trial& trial) {
  return trial.is_final() || split.scored.empty() ? split.validation : split.scored;
}

/// Returns the part of the data set that has these samples.
inline SampleSet validation_set(const store::SplitIndices& split) {
  return split.stored ? SampleSet::kValidation : SampleSet::kTrain;
}

/// The samples of a batch on which one member of a group trains.
struct BatchPart {
  std::size_t first = 0;  // place of the first one in the batch
  std::size_t count = 0;
};

/// Returns the part of a batch of `samples` on which a member of a group trains. The sizes of parts differ by
/// at most one sample.
inline BatchPart part_of_batch(std::size_t samples, std::size_t members, std::size_t member) {
  const std::size_t first = samples * member / members;
  return {first, samples * (member + 1) / members - first};
}

}  // namespace skyline::train
