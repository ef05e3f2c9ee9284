#pragma once

#include "skyline/trial/trial_group.hpp"

#include "train/course/training_evaluator.hpp"
#include "train/graph/parameter_store.hpp"
#include "train/optimizer/optimizer.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// A member's view of its group for training.
struct GroupMembership {
  trial::TrialGroup* group = nullptr;  // nullptr: no group
  GroupOptions options;
  /// Gradients are summed in pieces of at least this size: so large that bandwidth matters and not the number
  /// of messages, so small that the first are sent long before backward ends.
  std::size_t bucket_bytes = std::size_t{1} << 20;
  bool is_sharded() const { return group != nullptr && options.sharding != GroupOptions::Sharding::kNone; }
};

/// A range of the parameters' memory, some layers, whose gradients are summed in one operation. Its flat
/// values are laid out like that memory: gradients at the places of parameters, weighted values at those of
/// buffers, zeros in the padding.
struct GradientBucket {
  MemoryRange range;
  std::size_t first_layer = 0;
};

/// Divides the parameters into buckets of at least `bytes` (the last one may be smaller), last layers first,
/// in the order of backward.
/// @param first_bytes  least size of the first bucket; nothing: like the others
std::vector<GradientBucket> gradient_buckets(ParameterStore& parameters, std::size_t bytes,
                                             std::optional<std::size_t> first_bytes = std::nullopt);

/// The ranges that a member updates: its part of each bucket, or everything without sharding.
std::vector<MemoryRange> owned_ranges(const std::vector<GradientBucket>& buckets,
                                      const GroupMembership& membership, ParameterStore& parameters);

/// Sums the gradients of a group's members during backward: a bucket is sent as soon as its layers are done,
/// and updates the parameters as soon as its sum arrives. Buffers (running statistics) become the members'
/// mean, weighted by samples. So all members have the same parameters, to the bit, after every step. The
/// order of the group's operations does not depend on time.
class GradientExchange {
 public:
  /// All arguments outlive the exchange. `optimizer` owns owned_ranges of `buckets`.
  GradientExchange(const GroupMembership& membership, std::vector<GradientBucket> buckets,
                   ParameterStore& parameters, Optimizer& optimizer);

  /// Begins a step on `samples` of the `batch` samples of all members. Its gradients are by the mean loss of
  /// the batch.
  void begin_step(std::size_t samples, std::size_t batch);
  /// Notes that backward is done with this layer and all later ones.
  void layer_done(std::size_t layer);
  /// Call after backward: waits until all parameters are updated.
  void finish_step();

  /// Collective: collects the whole state of the optimizer on the leader; elsewhere `state` is unchanged.
  void collect_state(std::vector<float>& state);

 private:
  struct Tensor {
    StoredTensor* stored;
    std::size_t offset;
    std::size_t count;
  };
  struct Bucket {
    MemoryRange range;
    std::size_t first_layer = 0;
    MemoryRange owned;                 // range that this member updates
    std::vector<Tensor> buffers = {};  // buffers in the range
    at::Tensor values = {};            // held from the first finished layer to the update
    std::unique_ptr<trial::TrialGroup::Operation> sum = nullptr;
    std::unique_ptr<trial::TrialGroup::Operation> gather = nullptr;
  };

  bool drops_gradients() const { return membership_.options.sharding == GroupOptions::Sharding::kGradients; }
  void copy_in(Bucket& bucket, const Tensor& tensor);
  void start(Bucket& bucket);
  /// Updates parameters whose sums have arrived.
  void progress();
  void use_sum(Bucket& bucket);

  GroupMembership membership_;
  ParameterStore& parameters_;
  Optimizer& optimizer_;
  std::vector<Bucket> buckets_;
  std::vector<std::vector<Tensor>> layers_;  // tensors of each layer
  at::Tensor dropped_;                       // an empty tensor in place of a used gradient
  std::size_t filling_ = 0;                  // bucket of the next layer of backward
  std::size_t arriving_ = 0;                 // first bucket whose sum was not used yet
  std::size_t next_layer_ = 0;               // backward is done with the layers from here on
  float samples_ = 0;
  float batch_ = 0;
};

}  // namespace skyline::train
