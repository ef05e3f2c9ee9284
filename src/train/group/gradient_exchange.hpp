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

/// What a member needs to know of its group to train with it.
struct GroupMembership {
  trial::TrialGroup* group = nullptr;  // nullptr: it trains alone
  GroupOptions options;
  /// Gradients are summed in pieces of at least this size: large enough that the bandwidth counts and not the
  /// number of messages, small enough that the first are under way long before backward ends.
  std::size_t bucket_bytes = std::size_t{1} << 20;
  bool is_sharded() const { return group != nullptr && options.sharding != GroupOptions::Sharding::kNone; }
};

/// A range of the parameters' memory, some layers, whose gradients are summed in one operation. Its flat
/// values are laid out as that memory is: gradients at the places of parameters, weighted values at those of
/// buffers, zeros in the padding.
struct GradientBucket {
  MemoryRange range;
  std::size_t first_layer = 0;
};

/// Buckets of at least `bytes` (the last one may be smaller), last layers first, as backward comes to them.
/// @param first_bytes  least size of the first one; nothing: it is like the others
std::vector<GradientBucket> gradient_buckets(ParameterStore& parameters, std::size_t bytes,
                                             std::optional<std::size_t> first_bytes = std::nullopt);

/// What a member updates: its part of each bucket, or everything if nothing is sharded.
std::vector<MemoryRange> owned_ranges(const std::vector<GradientBucket>& buckets,
                                      const GroupMembership& membership, ParameterStore& parameters);

/// Sums the gradients of a group's members while backward goes on: a bucket is on its way as soon as its
/// layers are done, and is used to update the parameters as soon as it is there. Buffers (running
/// statistics) become the members' mean, weighted by samples. So all members have the same parameters, to the
/// bit, after every step. The order of the group's operations does not depend on time.
class GradientExchange {
 public:
  /// All outlive the exchange. `optimizer` owns owned_ranges of `buckets`.
  GradientExchange(const GroupMembership& membership, std::vector<GradientBucket> buckets,
                   ParameterStore& parameters, Optimizer& optimizer);

  /// Backward begins on `samples` of the `batch` samples of all members; the gradients to come are by the
  /// mean loss of the batch.
  void begin_step(std::size_t samples, std::size_t batch);
  /// Backward is done with this layer and all behind it.
  void layer_done(std::size_t layer);
  /// After backward: waits until all parameters are up to date.
  void finish_step();

  /// Collective: the whole state of the optimizer, on the leader; elsewhere `state` is left alone.
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
    MemoryRange owned;                 // what this member updates
    std::vector<Tensor> buffers = {};  // that stand in the range
    at::Tensor values = {};            // from the first layer that is done to the update
    std::unique_ptr<trial::TrialGroup::Operation> sum = nullptr;
    std::unique_ptr<trial::TrialGroup::Operation> gather = nullptr;
  };

  bool drops_gradients() const { return membership_.options.sharding == GroupOptions::Sharding::kGradients; }
  void copy_in(Bucket& bucket, const Tensor& tensor);
  void start(Bucket& bucket);
  /// Updates what has arrived.
  void progress();
  void use_sum(Bucket& bucket);

  GroupMembership membership_;
  ParameterStore& parameters_;
  Optimizer& optimizer_;
  std::vector<Bucket> buckets_;
  std::vector<std::vector<Tensor>> layers_;  // tensors of each layer
  at::Tensor dropped_;                       // without elements: a gradient that has been used
  std::size_t filling_ = 0;                  // bucket of the layer that is done next
  std::size_t arriving_ = 0;                 // the first bucket whose sum is not used
  std::size_t next_layer_ = 0;               // layers from here on are done
  float samples_ = 0;
  float batch_ = 0;
};

}  // namespace skyline::train
