#pragma once

#include "train/device/device_place.hpp"
#include "train/parameters/optimizer.hpp"
#include "train/parameters/parameter_store.hpp"

#include <cstddef>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// Least sizes of the pieces in which gradients are summed. The first one is small, so that it is sent soon
/// after backward begins. The others are large enough that bandwidth decides, not their number.
struct BucketSizes {
  std::size_t first_bytes = std::size_t{1} << 20;
  std::size_t other_bytes = std::size_t{8} << 20;
};

/// A range of the parameters' memory, some layers, whose gradients are summed in one operation. Its flat
/// values have the layout of that memory: gradients in the places of parameters, weighted values in those of
/// buffers, zeros in the padding.
struct GradientBucket {
  MemoryRange range;
  std::size_t first_layer = 0;
};

/// Divides the parameters into buckets, last layers first, as in backward. The last may be smaller.
std::vector<GradientBucket> gradient_buckets(ParameterStore& parameters, const BucketSizes& sizes);

/// Returns the ranges that a member updates: its part of each bucket (parts are equal except at the bucket's
/// end), or everything without sharding.
std::vector<MemoryRange> owned_ranges(const std::vector<GradientBucket>& buckets,
                                      const GroupMembership& membership, const ParameterStore& parameters);

/// Sums the gradients of a group's members while backward continues: a bucket is sent as soon as its layers
/// are done. Updates the parameters with the sums, and replaces the buffers (running statistics) by the
/// members' mean, weighted by samples. So all members have the same parameters, to the bit, after every step.
/// If the optimizer is sharded, each member gets only the sums of its part, updates that, and gives it to the
/// others. A step may be recorded if the reducer's operations may be. One thread uses it, with its stream
/// current.
class GradientExchange {
 public:
  /// All arguments must outlive it. `optimizer` owns owned_ranges of `buckets`; `parameters` are on their
  /// device.
  GradientExchange(const GroupMembership& membership, const std::vector<GradientBucket>& buckets,
                   ParameterStore& parameters, Optimizer& optimizer);

  /// Begins a step on `samples` of the `batch` samples of all members. Gradients are those of the mean loss.
  void begin_step(std::size_t samples, std::size_t batch);
  /// Takes the gradients of this layer and all later ones, which backward has finished. Missing gradients
  /// count as zeros, since a member may have no samples.
  void layer_done(std::size_t layer);
  /// Brings the parameters up to date; call it after backward.
  /// @param rate  see Optimizer::step
  void finish_step(const at::Tensor& rate);

  /// Collects the whole state of a sharded optimizer on the leader; it changes no other `state`. Collective.
  /// @param wait  waits for the stream and notices lost members; the leader calls it for each bucket
  void collect_state(std::vector<float>& state, const std::function<void()>& wait);

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
    at::Tensor values = {};  // laid out like the range's memory, padded to equal parts
    at::Tensor part = {};    // the member's own part; undefined without sharding
    std::vector<Place> parameters = {};
    std::vector<at::Tensor> buffers = {};  // in the order of memory
    std::vector<at::Tensor> buffer_values = {};
    // The part that this member updates with the sums:
    std::size_t first_piece = 0;  // index among the optimizer's pieces
    std::vector<at::Tensor> gradients = {};
    std::vector<at::Tensor> owned_buffers = {};
    std::vector<at::Tensor> buffer_sums = {};
    // If gradients are clipped: for each member's part that this member has, its summed gradients.
    std::vector<std::vector<at::Tensor>> slices = {};
  };
  /// Buffers for gradients that are dropped after summing: one is filled while the other is being sent.
  static constexpr std::size_t kSharedValues = 2;
  using ForBucket = std::function<at::Tensor(std::size_t bucket)>;
  using UseValues = std::function<void(const MemoryRange& range, const at::Tensor& values)>;

  bool drops_gradients() const { return membership_.options.sharding == GroupOptions::Sharding::kGradients; }
  void make_values();
  void find_places(ParameterStore& parameters);
  void find_sums(Bucket& bucket);
  void find_slices(Bucket& bucket);
  void clip_gradients();
  void start(Bucket& bucket);
  void use_sums(const Bucket& bucket);
  /// Gathers from all members their parts of every bucket.
  void gather(const ForBucket& own, const UseValues& use);

  GroupMembership membership_;
  at::Tensor block_;
  Optimizer& optimizer_;
  std::vector<Bucket> buckets_;  // last layers first
  at::Tensor squares_;           // float32 [buckets * members]: sum of squares of the gradients in each part
  std::size_t next_ = 0;         // index of the bucket that is filled next
  double samples_ = 0;
  double batch_ = 0;
};

}  // namespace skyline::train
