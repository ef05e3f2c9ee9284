#pragma once

#include "skyline/store/dataset.hpp"

#include "train/course/batch_source.hpp"
#include "train/course/learner.hpp"
#include "train/course/training_evaluator.hpp"
#include "train/device/accelerator.hpp"
#include "train/inherit/recent_parents.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

class ParameterStore;

/// Samples on a device; constant.
struct DeviceSamples {
  at::Tensor pixels;  // uint8 [samples, channels, height, width]
  at::Tensor labels;  // int32 [samples]
};

/// What the trials of an evaluator share on a device: the data set, which is copied there once, the streams,
/// which are kept for the trials to come, and what trials left for their children. Used by all threads.
class DeviceContext {
 public:
  DeviceContext(DeviceUse use, std::shared_ptr<const store::Dataset> dataset, const PixelScaling& scaling);

  Accelerator& accelerator() const { return *use_.accelerator; }
  int index() const { return use_.device; }
  c10::Device device() const { return device_; }

  /// Of float32 products of all trainings of the process on such a device.
  void set_precision(Precision precision);

  /// Copied when they are first asked for, on the current stream, and complete when the call returns.
  const DeviceSamples& samples(SampleSet set);
  /// float32 [channels, 256]: the network's input for each pixel value.
  const at::Tensor& scaling();

  /// The one that this thread gave back last, else a new one: LibTorch keeps work space for each pair of a
  /// thread and a stream, for ever. The threads of slots are few, and live as long as the process.
  std::unique_ptr<AcceleratorStream> take_stream();
  /// Keeps the stream for this thread's next trial; its work is done.
  void give_back(std::unique_ptr<AcceleratorStream> stream);

  /// Copies what the trial has learned, for its children; its stream has been waited for. Where there is no
  /// memory for that, nothing is kept.
  void keep_parent(const trial::Trial& trial, const ParameterStore& parameters);
  RecentParents& parents() { return parents_; }

  /// Whether it is worth trying: not after several refusals in a row, to trials one after the other.
  bool may_record() const { return refusals_ < kMostRefusals; }
  void note_recording() { refusals_ = 0; }
  /// The device has refused to record work: that trial goes on without, after one warning a process.
  void note_refusal(const std::string& reason);

 private:
  static constexpr int kMostRefusals = 3;

  /// A stream that waits for the next trial of the thread that used it last.
  struct FreeStream {
    std::thread::id user;
    std::unique_ptr<AcceleratorStream> stream;
  };

  DeviceUse use_;
  std::shared_ptr<const store::Dataset> dataset_;
  PixelScaling host_scaling_;
  c10::Device device_;
  std::once_flag scaling_once_;
  std::once_flag train_once_;
  std::once_flag test_once_;
  at::Tensor scaling_;
  DeviceSamples train_;
  DeviceSamples test_;
  std::mutex streams_mutex_;
  std::vector<FreeStream> free_streams_;
  std::mutex parents_mutex_;                           // of parents_stream_
  std::unique_ptr<AcceleratorStream> parents_stream_;  // their memory is in one place, not among trials'
  RecentParents parents_;
  std::atomic<int> refusals_ = 0;  // in a row
  std::atomic<bool> refusal_is_told_ = false;
};

/// A stream of a context, for the time of a trial.
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

}  // namespace skyline::train
