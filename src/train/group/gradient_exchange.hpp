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
/// after backward begins; the others are so large that bandwidth matters and not their number.
struct BucketSizes {
  std::size_t first_bytes = std::size_t{1} << 20;
  std::size_t other_bytes = std::size_t{8} << 20;
};

/// A range of the parameters' memory, some layers, whose gradients are summed in one operation. Its flat
/// values are laid out like that memory: gradients at the places of parameters, weighted values at those of
/// buffers, zeros in the padding.
struct GradientBucket {
  MemoryRange range;
  std::size_t first_layer = 0;
};

/// Divides the parameters into buckets (the last one may be smaller), last layers first, in the order of
/// backward.
std::vector<GradientBucket> gradient_buckets(ParameterStore& parameters, const BucketSizes& sizes);

/// The ranges that a member updates: its part of each bucket (parts are equal except at the bucket's end), or
/// everything without sharding.
std::vector<MemoryRange> owned_ranges(const std::vector<GradientBucket>& buckets,
                                      const GroupMembership& membership, const ParameterStore& parameters);

/// Sums the gradients of a group's members while backward goes on: a bucket is sent as soon as its layers are
/// done. Updates the parameters by the sums, and makes the buffers (running statistics) the members' mean,
/// weighted by samples: so all members have the same parameters, to the bit, after every step. Where the
/// optimizer is sharded, each member gets the sums of its part alone, updates that, and gives it to the
/// others. A step may be recorded if the reducer's operations may be. Used by one thread, with its stream
/// current.
class GradientExchange {
 public:
  /// All arguments outlive the exchange. `optimizer` owns owned_ranges of `buckets`; `parameters` are on
  /// their device.
  GradientExchange(const GroupMembership& membership, const std::vector<GradientBucket>& buckets,
                   ParameterStore& parameters, Optimizer& optimizer);

  /// Begins a step on `samples` of the `batch` samples of all members. Its gradients are by the mean loss of
  /// the batch.
  void begin_step(std::size_t samples, std::size_t batch);
  /// Takes the gradients of this layer and all later ones: backward is done with them. Missing gradients
  /// count as zeros, since a member may have no samples.
  void layer_done(std::size_t layer);
  /// After backward: brings the parameters up to date. @param rate  of Optimizer::step
  void finish_step(const at::Tensor& rate);

  /// Collective: collects the whole state of a sharded optimizer on the leader; elsewhere `state` is
  /// unchanged.
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
    at::Tensor values = {};  // laid out like the range's memory, then padding up to equal parts
    at::Tensor part = {};    // the member's own part; undefined without sharding
    std::vector<Place> parameters = {};
    std::vector<at::Tensor> buffers = {};  // in the order of memory
    std::vector<at::Tensor> buffer_values = {};
    // What the member brings up to date by the sums:
    std::size_t first_piece = 0;  // of the optimizer's
    std::vector<at::Tensor> gradients = {};
    std::vector<at::Tensor> owned_buffers = {};
    std::vector<at::Tensor> buffer_sums = {};
    // Where gradients are clipped: the summed ones in each member's part, of the parts that this member has.
    std::vector<std::vector<at::Tensor>> slices = {};
  };
  /// Buffers for gradients that are dropped after summing: one is filled while the other is being sent.
  static constexpr std::size_t kSharedValues = 2;
  using ForBucket = std::function<at::Tensor(std::size_t bucket)>;
  using TakeValues = std::function<void(const MemoryRange& range, const at::Tensor& values)>;

  bool drops_gradients() const { return membership_.options.sharding == GroupOptions::Sharding::kGradients; }
  void make_values();
  void find_places(ParameterStore& parameters);
  void find_sums(Bucket& bucket);
  void find_slices(Bucket& bucket);
  void clip_gradients();
  void start(Bucket& bucket);
  void use_sums(const Bucket& bucket);
  /// Gathers from all members what each has of every bucket.
  void gather(const ForBucket& own, const TakeValues& take);

  GroupMembership membership_;
  at::Tensor block_;
  Optimizer& optimizer_;
  std::vector<Bucket> buckets_;  // last layers first
  at::Tensor squares_;           // float32 [buckets * members]: of the gradients in each part
  std::size_t next_ = 0;         // index of the bucket that is filled next
  double samples_ = 0;
  double batch_ = 0;
};

}  // namespace skyline::train
