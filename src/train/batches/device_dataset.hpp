#pragma once

#include "skyline/space/network.hpp"
#include "skyline/store/dataset.hpp"

#include "store/data/teacher.hpp"
#include "train/batches/batch_source.hpp"
#include "train/device/accelerator.hpp"
#include "train/kernels/gather.hpp"
#include "train/options/training_options.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

struct TrainingSetup;

/// The samples of a set on a device. They never change. On the CPU they are in the data set's own memory.
struct DeviceSamples {
  at::Tensor values;  // uint8 or float32 [samples, channels, height, width]
  at::Tensor labels;  // int32 [samples], or float32 [samples, outputs]
  at::Tensor taught;  // float32 [at least samples, outputs], of a teacher; undefined if it has none
};

/// State that the trials of an evaluator share on a device, which may be the CPU: the data set, copied there
/// once, and streams for later trials. Any thread may use it.
class DeviceDataset {
 public:
  /// @param teacher  of the training set; nullptr if there is none
  DeviceDataset(DeviceUse use, std::shared_ptr<const store::Dataset> dataset, const ValueScaling& scaling,
                std::shared_ptr<const store::Teacher> teacher);

  Accelerator& accelerator() const { return *use_.accelerator; }
  int index() const { return use_.device; }
  c10::Device device() const { return device_; }

  /// Sets the precision of float32 products for all training of this process on such devices.
  void set_precision(Precision precision);

  /// Returns the samples of a set. The first call copies them on the current stream, and waits for that.
  const DeviceSamples& samples(SampleSet set);
  /// Returns ValueScaling::tables on the device.
  const at::Tensor& scaling();

  /// Returns the stream of this thread, the same for all of its trials: LibTorch keeps work space for each
  /// pair of a thread and a stream for ever. Slot threads are few, and live as long as the process.
  AcceleratorStream& stream();

  /// Notes that the device refused to record work. The trial continues without; one warning per process.
  void note_refusal(const std::string& reason);

 private:
  struct HeldSamples {
    std::once_flag once;
    DeviceSamples samples;
  };

  DeviceUse use_;
  std::shared_ptr<const store::Dataset> dataset_;
  ValueScaling host_scaling_;
  std::shared_ptr<const store::Teacher> teacher_;
  c10::Device device_;
  std::once_flag scaling_once_;
  at::Tensor scaling_;
  std::array<HeldSamples, 3> held_;  // indexed by SampleSet
  std::mutex streams_mutex_;
  std::map<std::thread::id, std::unique_ptr<AcceleratorStream>> streams_;  // key: thread that uses the stream
  std::atomic<bool> refusal_is_told_ = false;
};

/// Inputs and targets of one batch, always at the same address.
struct BatchBuffers {
  at::Tensor images;       // float32 [rows, channels, height, width], channels_last
  at::Tensor targets;      // int64 [rows], or float32 [rows, outputs]
  at::Tensor others = {};  // int64 [rows], classes of the mixed-in images; undefined if nothing is mixed
  at::Tensor shares = {};  // float32 [rows], shares of `targets`
  at::Tensor taught = {};  // float32 [rows, outputs], targets of a teacher; undefined if there is none

  static BatchBuffers make(std::int64_t rows, const TrainingSetup& setup);
  /// Makes those of a trial's steps, with what only training needs.
  static BatchBuffers make_for_training(std::int64_t rows, const TrainingSetup& setup);
  BatchBuffers first(std::int64_t rows) const;
};

/// The changes of a trial's images, and of its teacher's outputs.
struct BatchChanges {
  at::Tensor seed = {};  // int64 []: seed of the epoch; undefined if images stay unchanged
  kernels::AugmentPlan augment = {};
  at::Tensor mixup = {};  // see kernels::MixPlan; undefined if off
  at::Tensor cutmix = {};
  kernels::Softening softening = kernels::Softening::kNone;
  double temperature = 1;
};

/// Fills a batch, or a part of it, on the current stream; may be part of recorded work.
/// @param order     int64 [samples]
/// @param position  int64 []: place of the batch in the order
/// @param first     place in the batch of the part's first sample
void gather_on_device(DeviceDataset& context, SampleSet set, const at::Tensor& order,
                      const at::Tensor& position, const BatchBuffers& batch, const BatchChanges& changes = {},
                      std::int64_t first = 0);

}  // namespace skyline::train
