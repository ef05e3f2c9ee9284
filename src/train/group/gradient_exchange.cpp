#include "train/group/gradient_exchange.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_div.h>
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

MemoryRange own_part(const MemoryRange& range, const GroupMembership& membership) {
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

std::vector<GradientBucket> gradient_buckets(ParameterStore& parameters, const BucketSizes& sizes) {
  std::vector<GradientBucket> buckets;
  auto end = static_cast<std::size_t>(parameters.block().numel());
  for (std::size_t layer = parameters.layers().size(); layer-- > 0;) {
    const std::vector<StoredTensor>& tensors = parameters.layer(layer).tensors();
    if (tensors.empty()) {
      continue;
    }
    const std::size_t begin = parameters.offset_of(tensors.front());
    const std::size_t least = buckets.empty() ? sizes.first_bytes : sizes.other_bytes;
    if ((end - begin) * sizeof(float) >= least || begin == 0) {
      buckets.push_back({{begin, end}, layer});
      end = begin;
    }
  }
  return buckets;
}

std::vector<MemoryRange> owned_ranges(const std::vector<GradientBucket>& buckets,
                                      const GroupMembership& membership, const ParameterStore& parameters) {
  if (!membership.is_sharded()) {
    return {{0, static_cast<std::size_t>(parameters.block().numel())}};
  }
  std::vector<MemoryRange> owned;
  std::ranges::transform(buckets, std::back_inserter(owned),
                         [&](const GradientBucket& bucket) { return own_part(bucket.range, membership); });
  return owned;
}

GradientExchange::GradientExchange(const GroupMembership& membership,
                                   const std::vector<GradientBucket>& buckets, ParameterStore& parameters,
                                   Optimizer& optimizer)
    : membership_(membership), block_(parameters.block()), optimizer_(optimizer) {
  for (const GradientBucket& bucket : buckets) {
    buckets_.push_back({.range = bucket.range,
                        .first_layer = bucket.first_layer,
                        .owned = own_part(bucket.range, membership)});
  }
  make_values();
  find_places(parameters);
  for (Bucket& bucket : buckets_) {
    find_sums(bucket);
    if (optimizer.clip_norm() > 0) find_slices(bucket);
  }
  const auto parts = static_cast<std::int64_t>(buckets_.size() * membership.members);
  squares_ = at::zeros({parts}, block_.options());
}

void GradientExchange::make_values() {
  const auto zeros = [&](std::size_t size) {
    return at::zeros({static_cast<std::int64_t>(size)}, block_.options());
  };
  const std::size_t count = drops_gradients() ? std::min(kSharedValues, buckets_.size()) : buckets_.size();
  std::vector<std::size_t> sizes(count);
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const std::size_t part = part_size(buckets_[i].range, membership_.members);
    sizes[i % count] = std::max(sizes[i % count], part * membership_.members);
  }
  std::vector<at::Tensor> memory;
  std::ranges::transform(sizes, std::back_inserter(memory), zeros);
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const std::size_t part = part_size(buckets_[i].range, membership_.members);
    buckets_[i].values = narrow(memory[i % count], 0, part * membership_.members);
    if (membership_.is_sharded()) {
      buckets_[i].part = zeros(part);
    }
  }
}

void GradientExchange::find_places(ParameterStore& parameters) {
  for (StoredLayer& layer : parameters.layers()) {
    for (StoredTensor& tensor : layer.tensors()) {
      const MemoryRange place = place_of(parameters, tensor);
      const auto bucket = std::ranges::find_if(
          buckets_, [&](const Bucket& candidate) { return candidate.range.begin <= place.begin; });
      require(bucket != buckets_.end(), "a tensor that is in no bucket");
      const at::Tensor values = narrow(bucket->values, place.begin - bucket->range.begin, size_of(place));
      if (tensor.trainable) {
        bucket->parameters.push_back({&tensor, values});
        continue;
      }
      bucket->buffers.push_back(narrow(block_, place.begin, size_of(place)));
      bucket->buffer_values.push_back(values);
      const MemoryRange owned{std::max(place.begin, bucket->owned.begin),
                              std::min(place.end, bucket->owned.end)};
      if (owned.begin < owned.end) {
        const at::Tensor& sums = bucket->part.defined() ? bucket->part : bucket->values;
        bucket->owned_buffers.push_back(narrow(block_, owned.begin, size_of(owned)));
        bucket->buffer_sums.push_back(narrow(sums, owned.begin - bucket->owned.begin, size_of(owned)));
      }
    }
  }
}

/// Pieces of a bucket follow each other: each belongs to the one bucket that has its place.
void GradientExchange::find_sums(Bucket& bucket) {
  const std::vector<Optimizer::Piece>& pieces = optimizer_.state().pieces();
  const at::Tensor& sums = bucket.part.defined() ? bucket.part : bucket.values;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const MemoryRange& place = pieces[i].place;
    if (bucket.owned.begin <= place.begin && place.end <= bucket.owned.end) {
      if (bucket.gradients.empty()) bucket.first_piece = i;
      bucket.gradients.push_back(narrow(sums, place.begin - bucket.owned.begin, size_of(place)));
    }
  }
}

/// The sum over a part is the same whether this member alone sums the part or all members sum all parts.
void GradientExchange::find_slices(Bucket& bucket) {
  const std::size_t size = part_size(bucket.range, membership_.members);
  bucket.slices.resize(membership_.members);
  for (std::size_t member = 0; member < membership_.members; ++member) {
    if (bucket.part.defined() && member != membership_.member) continue;
    const std::size_t first = member * size;
    for (const Place& place : bucket.parameters) {
      const std::size_t offset =
          static_cast<std::size_t>(place.values.storage_offset() - bucket.values.storage_offset());
      const std::size_t begin = std::max(offset, first);
      const std::size_t end = std::min(offset + static_cast<std::size_t>(place.values.numel()), first + size);
      if (begin >= end) continue;
      bucket.slices[member].push_back(bucket.part.defined() ? narrow(bucket.part, begin - first, end - begin)
                                                            : narrow(bucket.values, begin, end - begin));
    }
  }
}

/// Of the summed gradients of all buckets; all sums are there.
void GradientExchange::clip_gradients() {
  squares_.zero_();
  std::int64_t part = 0;
  for (const Bucket& bucket : buckets_) {
    for (const std::vector<at::Tensor>& slices : bucket.slices) {
      if (!slices.empty()) squares_.select(0, part).copy_(square_sum(slices));
      ++part;
    }
  }
  if (membership_.is_sharded()) {
    membership_.reducer->all_reduce(squares_);
    membership_.reducer->join();
  }
  std::vector<at::Tensor> gradients;
  for (const Bucket& bucket : buckets_) {
    gradients.insert(gradients.end(), bucket.gradients.begin(), bucket.gradients.end());
  }
  if (!gradients.empty()) clip(gradients, squares_.sum(), optimizer_.clip_norm());
}

void GradientExchange::begin_step(std::size_t samples, std::size_t batch) {
  samples_ = static_cast<double>(samples);
  batch_ = static_cast<double>(batch);
  next_ = 0;
}

void GradientExchange::layer_done(std::size_t layer) {
  for (; next_ < buckets_.size() && buckets_[next_].first_layer >= layer; ++next_) {
    start(buckets_[next_]);
  }
  membership_.reducer->progress();
}

void GradientExchange::start(Bucket& bucket) {
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
    const std::vector<at::Tensor> weighted = at::_foreach_mul(bucket.buffers, samples_);
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

void GradientExchange::finish_step(const at::Tensor& rate) {
  const at::NoGradGuard no_gradients;
  layer_done(0);
  optimizer_.begin_step(rate);
  if (optimizer_.clip_norm() > 0) {
    membership_.reducer->join();
    clip_gradients();
  }
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    membership_.reducer->join(buckets_.size() - 1 - i);
    use_sums(buckets_[i]);
  }
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

void GradientExchange::use_sums(const Bucket& bucket) {
  optimizer_.update(bucket.first_piece, bucket.gradients);
  if (!bucket.owned_buffers.empty()) {
    at::_foreach_copy_(bucket.owned_buffers, bucket.buffer_sums);
    at::_foreach_div_(bucket.owned_buffers, batch_);
  }
}

void GradientExchange::gather(const ForBucket& own, const TakeValues& take) {
  for (std::size_t i = 0; i <= buckets_.size(); ++i) {
    if (i < buckets_.size()) {
      Bucket& bucket = buckets_[i];
      narrow(bucket.part, 0, size_of(bucket.owned)).copy_(own(i));
      membership_.reducer->all_gather(bucket.part, bucket.values);
    }
    if (i > 0) {
      const Bucket& bucket = buckets_[i - 1];
      membership_.reducer->join(i < buckets_.size() ? 1 : 0);
      take(bucket.range, narrow(bucket.values, 0, size_of(bucket.range)));
    }
  }
}

void GradientExchange::collect_state(std::vector<float>& state, const std::function<void()>& wait) {
  const OptimizerState& optimizer = optimizer_.state();
  at::Tensor staged;  // pinning memory for all parameters would be too much, and others make a copy wait
  if (membership_.member == 0) {
    state.resize(optimizer.size());
    std::size_t largest = 0;
    for (const Bucket& bucket : buckets_) largest = std::max(largest, size_of(bucket.range));
    staged = at::empty({static_cast<std::int64_t>(largest)},
                       at::TensorOptions(at::kFloat).pinned_memory(block_.is_cuda()));
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

}  // namespace skyline::train
