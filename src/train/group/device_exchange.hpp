#pragma once

#include "train/course/training_evaluator.hpp"
#include "train/device/device_place.hpp"
#include "train/graph/parameter_store.hpp"
#include "train/group/gradient_exchange.hpp"
#include "train/optimizer/device_optimizer.hpp"
#include "train/optimizer/optimizer_state.hpp"

#include <cstddef>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Pieces in which the gradients of a device are summed. The first one is small, so that it is sent soon
/// after backward begins; the others are so large that bandwidth matters and not their number.
struct BucketSizes {
  std::size_t first_bytes = std::size_t{1} << 20;
  std::size_t other_bytes = std::size_t{8} << 20;
};

/// The ranges that a member updates: its part of each bucket (parts are equal except at the bucket's end), or
/// everything without sharding.
std::vector<MemoryRange> owned_ranges(const std::vector<GradientBucket>& buckets,
                                      const DeviceMembership& membership, ParameterStore& parameters);

/// Sums gradients over the members of a group on their devices while backward goes on there, updates the
/// parameters, and makes the buffers (running statistics) the members' mean, weighted by samples: so all
/// members have the same parameters, to the bit, after every step. Where the optimizer is sharded, each
/// member gets the sums of its part alone, updates that, and gives it to the others. A step may be recorded
/// if the reducer's operations may be. Used by one thread, with its stream current.
class DeviceExchange {
 public:
  /// All arguments outlive the exchange. `optimizer` owns owned_ranges of `buckets`; `parameters` are on
  /// their device.
  DeviceExchange(const DeviceMembership& membership, const std::vector<GradientBucket>& buckets,
                 ParameterStore& parameters, DeviceOptimizer& optimizer);

  /// Begins a step. Its gradients are by the mean loss of the members' whole batch.
  /// @param share  share of the batch's samples that the member has
  void begin_step(double share);
  /// Takes the gradients of this layer and all later ones: backward is done with them. Missing gradients
  /// count as zeros, since a member may have no samples.
  void layer_done(std::size_t layer);
  /// After backward: brings the parameters up to date. @param rate  float32 [], on the device
  void finish_step(const at::Tensor& rate);

  /// Collective: collects the whole state of a sharded optimizer on the leader; elsewhere `state` is
  /// unchanged.
  /// @param wait  waits for the stream and notices lost members; the leader calls it for each bucket
  void collect_state(std::vector<float>& state, const std::function<void()>& wait);
  /// Number of floats that the exchange holds on the device.
  std::size_t held_values() const { return held_values_; }

 private:
  /// A parameter, and the place of its gradient in the values of its bucket.
  struct Place {
    StoredTensor* tensor;
    at::Tensor values;
  };
  struct Bucket {
    MemoryRange range;
    std::size_t first_layer = 0;
    MemoryRange owned;
    at::Tensor values;  // laid out like the range's memory, then padding up to equal parts
    at::Tensor part;    // the member's own part; undefined without sharding
    std::vector<Place> parameters;
    std::vector<at::Tensor> buffers;  // in the order of memory
    std::vector<at::Tensor> buffer_values;
  };
  using ForBucket = std::function<at::Tensor(std::size_t bucket)>;
  using TakeValues = std::function<void(const MemoryRange& range, const at::Tensor& values)>;

  bool drops_gradients() const { return membership_.options.sharding == GroupOptions::Sharding::kGradients; }
  void make_values(const at::TensorOptions& options);
  void find_places(ParameterStore& parameters);
  void find_sums(ParameterStore& parameters);
  /// The part of the bucket's result that belongs to a range of memory.
  at::Tensor sum_of(const MemoryRange& range) const;
  void start(Bucket& bucket);
  /// Gathers from all members what each has of every bucket.
  void gather(const ForBucket& own, const TakeValues& take);
  /// Memory of the host for the largest bucket.
  at::Tensor make_staging() const;

  DeviceMembership membership_;
  at::Tensor block_;
  DeviceOptimizer& optimizer_;
  std::vector<Bucket> buckets_;          // last layers first
  std::vector<at::Tensor> gradients_;    // sums for the optimizer's pieces
  std::vector<at::Tensor> buffers_;      // owned pieces of the buffers, in memory
  std::vector<at::Tensor> buffer_sums_;  // sums for the pieces above
  std::size_t held_values_ = 0;
  std::size_t next_ = 0;  // index of the bucket that is filled next
  double share_ = 0;
};

}  // namespace skyline::train
