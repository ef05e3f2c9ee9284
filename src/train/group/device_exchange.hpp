#pragma once

#include "train/graph/parameter_store.hpp"
#include "train/group/device_membership.hpp"
#include "train/group/gradient_exchange.hpp"
#include "train/optimizer/device_optimizer.hpp"

#include <cstddef>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// What a member updates: of each bucket its part, which are equal parts but for the end of the bucket, or
/// everything if nothing is sharded.
std::vector<MemoryRange> owned_ranges(const std::vector<GradientBucket>& buckets,
                                      const DeviceMembership& membership, ParameterStore& parameters);

/// Sums gradients over the members of a group on their devices while backward goes on there, updates the
/// parameters, and makes the buffers (running statistics) the members' mean, weighted by samples: so all
/// members have the same parameters, to the bit, after every step. Where the optimizer is sharded, each
/// member gets the sums of its part alone, updates that, and gives it to the others. A step may be recorded
/// if the reducer's operations may be. Used by one thread, with its stream current.
class DeviceExchange {
 public:
  /// All outlive the exchange. `optimizer` owns owned_ranges of `buckets`; `parameters` are on their device.
  DeviceExchange(const DeviceMembership& membership, const std::vector<GradientBucket>& buckets,
                 ParameterStore& parameters, DeviceOptimizer& optimizer);

  /// Backward begins. The gradients to come are by the mean loss of the members' whole batch.
  /// @param share  of the batch's samples that the member has
  void begin_step(double share);
  /// Backward is done with this layer and all behind it: takes their gradients. Those that are not there
  /// count as zeros, as a member may have no samples.
  void layer_done(std::size_t layer);
  /// After backward: brings the parameters up to date. @param rate  float32 [], on the device
  void finish_step(const at::Tensor& rate);

  /// Collective: the moments of a sharded optimizer, of each kind as they would stand in all memory: on the
  /// leader, in memory of the host; nothing on the others.
  /// @param wait  until the stream has come to its end, seeing whether members are lost: the leader calls it
  ///              for each bucket
  std::vector<at::Tensor> gather_moments(const std::function<void()>& wait);
  /// Floats on the device that it needs.
  std::size_t held_values() const { return held_values_; }

 private:
  /// A parameter, and where its gradient goes in the values of its bucket.
  struct Place {
    at::Tensor tensor;
    at::Tensor values;
  };
  struct Bucket {
    MemoryRange range;
    std::size_t first_layer = 0;
    MemoryRange owned;
    at::Tensor values;  // as the range's memory, then padding up to equal parts
    at::Tensor part;    // the member's own; undefined if nothing is sharded
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
  /// The sum that stands for a range of memory in the bucket's result.
  at::Tensor sum_of(const MemoryRange& range) const;
  void start(Bucket& bucket);
  /// All members' parts of what each has of every bucket.
  void gather(const ForBucket& own, const TakeValues& take);
  /// In memory of the host, for the largest bucket.
  at::Tensor make_staging() const;

  DeviceMembership membership_;
  at::Tensor block_;
  DeviceOptimizer& optimizer_;
  std::vector<Bucket> buckets_;          // last layers first
  std::vector<at::Tensor> gradients_;    // sums, of the optimizer's pieces
  std::vector<at::Tensor> buffers_;      // the owned pieces of them, in memory
  std::vector<at::Tensor> buffer_sums_;  // of these
  std::size_t held_values_ = 0;
  std::size_t next_ = 0;  // bucket that is filled next
  double share_ = 0;
};

}  // namespace skyline::train
