#include "train/group/device_exchange.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

namespace skyline::train {
namespace {

/// Buffers for gradients that are dropped after summing: one is filled while the other is being sent.
constexpr std::size_t kSharedValues = 2;

at::Tensor narrow(const at::Tensor& values, std::size_t begin, std::size_t size) {
  return values.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(size));
}

/// Size of a part of a bucket: parts are equal, and begin as in trial::part_of().
std::size_t part_size(const MemoryRange& range, std::size_t members) {
  constexpr std::size_t kLine = 16;
  return (size_of(range) + kLine * members - 1) / (kLine * members) * kLine;
}

MemoryRange own_part(const MemoryRange& range, const DeviceMembership& membership) {
  if (!membership.is_sharded()) {
    return range;
  }
  const std::size_t size = part_size(range, membership.members);
  const std::size_t begin = std::min(range.end, range.begin + membership.member * size);
  return {begin, std::min(range.end, begin + size)};
}

MemoryRange place_of(const ParameterStore& parameters, const StoredTensor& tensor) {
  const std::size_t begin = parameters.offset_of(tensor);
  return {begin, begin + static_cast<std::size_t>(tensor.value.numel())};
}

}  // namespace

std::vector<MemoryRange> owned_ranges(const std::vector<GradientBucket>& buckets,
                                      const DeviceMembership& membership, ParameterStore& parameters) {
  if (!membership.is_sharded()) {
    return {{0, static_cast<std::size_t>(parameters.block().numel())}};
  }
  std::vector<MemoryRange> owned;
  std::ranges::transform(buckets, std::back_inserter(owned),
                         [&](const GradientBucket& bucket) { return own_part(bucket.range, membership); });
  return owned;
}

DeviceExchange::DeviceExchange(const DeviceMembership& membership, const std::vector<GradientBucket>& buckets,
                               ParameterStore& parameters, DeviceOptimizer& optimizer)
    : membership_(membership), block_(parameters.block()), optimizer_(optimizer) {
  for (const GradientBucket& bucket : buckets) {
    Bucket& added = buckets_.emplace_back();
    added.range = bucket.range;
    added.first_layer = bucket.first_layer;
    added.owned = own_part(bucket.range, membership);
  }
  make_values(block_.options());
  find_places(parameters);
  find_sums(parameters);
}

void DeviceExchange::make_values(const at::TensorOptions& options) {
  const auto zeros = [&](std::size_t size) { return at::zeros({static_cast<std::int64_t>(size)}, options); };
  const std::size_t count = drops_gradients() ? std::min(kSharedValues, buckets_.size()) : buckets_.size();
  std::vector<std::size_t> sizes(count);
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const std::size_t part = part_size(buckets_[i].range, membership_.members);
    sizes[i % count] = std::max(sizes[i % count], part * membership_.members);
  }
  held_values_ = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  std::vector<at::Tensor> memory;
  std::ranges::transform(sizes, std::back_inserter(memory), zeros);
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const std::size_t part = part_size(buckets_[i].range, membership_.members);
    buckets_[i].values = narrow(memory[i % count], 0, part * membership_.members);
    if (membership_.is_sharded()) {
      buckets_[i].part = zeros(part);
      held_values_ += part;
    }
  }
}

void DeviceExchange::find_places(ParameterStore& parameters) {
  for (StoredLayer& layer : parameters.layers()) {
    for (StoredTensor& tensor : layer.tensors()) {
      const MemoryRange place = place_of(parameters, tensor);
      const auto bucket = std::ranges::find_if(
          buckets_, [&](const Bucket& candidate) { return candidate.range.begin <= place.begin; });
      require(bucket != buckets_.end(), "a tensor that is in no bucket");
      const at::Tensor values = narrow(bucket->values, place.begin - bucket->range.begin, size_of(place));
      if (tensor.trainable) {
        bucket->parameters.push_back({&tensor, values});
      } else {
        bucket->buffers.push_back(narrow(block_, place.begin, size_of(place)));
        bucket->buffer_values.push_back(values);
      }
    }
  }
}

void DeviceExchange::find_sums(ParameterStore& parameters) {
  for (const OptimizerState::Piece& piece : optimizer_.state().pieces()) {
    gradients_.push_back(sum_of(piece.place));
  }
  for (StoredLayer& layer : parameters.layers()) {
    for (const StoredTensor& tensor : layer.tensors()) {
      if (tensor.trainable) {
        continue;
      }
      const MemoryRange place = place_of(parameters, tensor);
      for (const Bucket& bucket : buckets_) {
        const MemoryRange owned{std::max(place.begin, bucket.owned.begin),
                                std::min(place.end, bucket.owned.end)};
        if (owned.begin < owned.end) {
          buffers_.push_back(narrow(block_, owned.begin, size_of(owned)));
          buffer_sums_.push_back(sum_of(owned));
        }
      }
    }
  }
}

at::Tensor DeviceExchange::sum_of(const MemoryRange& range) const {
  for (const Bucket& bucket : buckets_) {
    if (bucket.owned.begin <= range.begin && range.end <= bucket.owned.end) {
      return narrow(bucket.part.defined() ? bucket.part : bucket.values, range.begin - bucket.owned.begin,
                    size_of(range));
    }
  }
  throw InternalError("a range that the member does not own");
}

void DeviceExchange::begin_step(double share) {
  share_ = share;
  next_ = 0;
}

void DeviceExchange::layer_done(std::size_t layer) {
  for (; next_ < buckets_.size() && buckets_[next_].first_layer >= layer; ++next_) {
    start(buckets_[next_]);
  }
}

void DeviceExchange::start(Bucket& bucket) {
  const at::NoGradGuard no_gradients;
  if (drops_gradients()) {
    membership_.reducer->join(kSharedValues - 1);  // waits for the bucket that used this memory before
  }
  std::vector<at::Tensor> targets;
  std::vector<at::Tensor> sources;
  for (Place& place : bucket.parameters) {
    at::Tensor& gradient = place.tensor->gradient;
    if (gradient.defined()) {
      targets.push_back(place.values);
      sources.push_back(in_memory_order(gradient));
      gradient.reset();
    } else {
      place.values.zero_();
    }
  }
  if (!bucket.buffers.empty()) {
    const std::vector<at::Tensor> weighted = at::_foreach_mul(bucket.buffers, share_);
    sources.insert(sources.end(), weighted.begin(), weighted.end());
    targets.insert(targets.end(), bucket.buffer_values.begin(), bucket.buffer_values.end());
  }
  if (!targets.empty()) {
    at::_foreach_copy_(targets, sources);
  }
  if (bucket.part.defined()) {
    membership_.reducer->reduce_scatter(bucket.values, bucket.part);
  } else {
    membership_.reducer->all_reduce(bucket.values);
  }
}

void DeviceExchange::finish_step(const at::Tensor& rate) {
  const at::NoGradGuard no_gradients;
  layer_done(0);
  membership_.reducer->join();
  if (!buffers_.empty()) {
    at::_foreach_copy_(buffers_, buffer_sums_);
  }
  optimizer_.update(rate, gradients_);
  if (membership_.is_sharded()) {
    gather(
        [&](std::size_t bucket) {
          const MemoryRange& owned = buckets_[bucket].owned;
          return narrow(block_, owned.begin, size_of(owned));
        },
        [&](const MemoryRange& range, const at::Tensor& values) {
          narrow(block_, range.begin, size_of(range)).copy_(values);
        });
  }
}

void DeviceExchange::gather(const ForBucket& own, const TakeValues& take) {
  const auto take_bucket = [&](const Bucket& bucket) {
    take(bucket.range, narrow(bucket.values, 0, size_of(bucket.range)));
  };
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    Bucket& bucket = buckets_[i];
    narrow(bucket.part, 0, size_of(bucket.owned)).copy_(own(i));
    membership_.reducer->all_gather(bucket.part, bucket.values);
    if (i > 0) {
      membership_.reducer->join(1);
      take_bucket(buckets_[i - 1]);
    }
  }
  membership_.reducer->join();
  if (!buckets_.empty()) {
    take_bucket(buckets_.back());
  }
}

void DeviceExchange::collect_state(std::vector<float>& state, const std::function<void()>& wait) {
  const OptimizerState& optimizer = optimizer_.state();
  at::Tensor staged;
  if (membership_.member == 0) {
    state.resize(optimizer.size());
    staged = make_staging();
  }
  for (std::size_t kind = 0; kind < optimizer.kinds(); ++kind) {
    gather([&](std::size_t bucket) { return optimizer.moments(kind, bucket); },
           [&](const MemoryRange& range, const at::Tensor& values) {
             if (staged.defined()) {
               narrow(staged, 0, size_of(range)).copy_(values, true);
               wait();
               optimizer.place(kind, range, staged.const_data_ptr<float>(), state);
             }
           });
  }
}

/// Pinning memory for all parameters would be too much, and a copy to unpinned memory waits by itself.
at::Tensor DeviceExchange::make_staging() const {
  std::size_t largest = 0;
  for (const Bucket& bucket : buckets_) {
    largest = std::max(largest, size_of(bucket.range));
  }
  return at::empty({static_cast<std::int64_t>(largest)},
                   at::TensorOptions(at::kFloat).pinned_memory(block_.is_cuda()));
}

}  // namespace skyline::train
