#pragma once

#include "skyline/space/network.hpp"
#include "skyline/store/dataset.hpp"

#include "train/batches/batch_source.hpp"
#include "train/device/accelerator.hpp"
#include "train/kernels/gather.hpp"
#include "train/options/training_options.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

struct TrainingSetup;

/// The samples of a set on a device; constant. On the CPU: in the data set's own memory.
struct DeviceSamples {
  at::Tensor values;  // uint8 or float32 [samples, channels, height, width]
  at::Tensor labels;  // int32 [samples], or float32 [samples, outputs]
};

/// State that the trials of an evaluator share on a device, which may be the CPU: the data set, copied there
/// once, and streams, kept for later trials. Used by all threads.
class DeviceContext {
 public:
  DeviceContext(DeviceUse use, std::shared_ptr<const store::Dataset> dataset, const ValueScaling& scaling);

  Accelerator& accelerator() const { return *use_.accelerator; }
  int index() const { return use_.device; }
  c10::Device device() const { return device_; }

  /// Sets the precision of float32 products for all training of the process on such devices.
  void set_precision(Precision precision);

  /// The samples of a set. The first call copies them on the current stream; complete when it returns.
  const DeviceSamples& samples(SampleSet set);
  /// See ValueScaling::tables.
  const at::Tensor& scaling();

  /// Takes the stream that this thread gave back last, else a new one: LibTorch keeps work space for each
  /// pair of a thread and a stream for ever. Slot threads are few, and live as long as the process.
  std::unique_ptr<AcceleratorStream> take_stream();
  /// Keeps the stream for this thread's next trial. @pre its work is done
  void give_back(std::unique_ptr<AcceleratorStream> stream);

  /// Whether to try recording: not after many refusals in a row.
  bool may_record() const { return refusals_ < kMostRefusals; }
  void note_recording() { refusals_ = 0; }
  /// Notes that the device refused to record work. The trial continues without; one warning per process.
  void note_refusal(const std::string& reason);

 private:
  static constexpr int kMostRefusals =
      16;  // a trial has up to 4 works, and may break another slot's recording

  struct HeldSamples {
    std::once_flag once;
    DeviceSamples samples;
  };
  /// A stream that waits for the next trial of the thread that used it last.
  struct FreeStream {
    std::thread::id user;
    std::unique_ptr<AcceleratorStream> stream;
  };

  DeviceUse use_;
  std::shared_ptr<const store::Dataset> dataset_;
  ValueScaling host_scaling_;
  c10::Device device_;
  std::once_flag scaling_once_;
  at::Tensor scaling_;
  std::array<HeldSamples, 3> held_;  // by SampleSet
  std::mutex streams_mutex_;
  std::vector<FreeStream> free_streams_;
  std::atomic<int> refusals_ = 0;  // refusals in a row
  std::atomic<bool> refusal_is_told_ = false;
};

/// Holds a stream of a context during a trial.
class StreamLease {
 public:
  explicit StreamLease(DeviceContext& context) : context_(context), stream_(context.take_stream()) {}
  ~StreamLease() { context_.give_back(std::move(stream_)); }
  StreamLease(const StreamLease&) = delete;
  StreamLease& operator=(const StreamLease&) = delete;

  AcceleratorStream* operator->() const { return stream_.get(); }
  AcceleratorStream& operator*() const { return *stream_; }

 private:
  DeviceContext& context_;
  std::unique_ptr<AcceleratorStream> stream_;
};

/// Inputs and targets of one batch, always at the same address.
struct BatchBuffers {
  at::Tensor images;       // float32 [rows, channels, height, width], channels_last
  at::Tensor targets;      // int64 [rows], or float32 [rows, outputs]
  at::Tensor others = {};  // int64 [rows], classes of what was mixed in; undefined: none
  at::Tensor shares = {};  // float32 [rows], of the targets

  static BatchBuffers make(std::int64_t rows, const TrainingSetup& setup, bool mixed = false);
  BatchBuffers first(std::int64_t rows) const;
};

/// How the images of a trial are changed.
struct BatchChanges {
  at::Tensor seed = {};  // int64 []: of the epoch; undefined: images stay unchanged
  kernels::AugmentPlan augment = {};
  at::Tensor mixup = {};  // see kernels::MixPlan; undefined: off
  at::Tensor cutmix = {};
};

/// Fills a batch on the current stream; may be part of recorded work.
/// @param order     int64 [samples]
/// @param position  int64 []: place of the batch in the order
void gather_on_device(DeviceContext& context, SampleSet set, const at::Tensor& order,
                      const at::Tensor& position, const BatchBuffers& batch,
                      const BatchChanges& changes = {});

}  // namespace skyline::train
