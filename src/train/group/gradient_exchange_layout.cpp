// Chooses the memory of an exchange's buckets, and the places of gradients in it.

#include "skyline/core/error.hpp"

#include "train/group/gradient_exchange.hpp"

#include <algorithm>
#include <iterator>

#include <ATen/ops/zeros.h>

namespace skyline::train {
namespace {

/// Returns the size of a part of a bucket: parts are equal, and begin as in trial::shard_of().
std::size_t part_size(const MemoryRange& range, std::size_t members) {
  constexpr std::size_t kLine = 16;
  return (size_of(range) + kLine * members - 1) / (kLine * members) * kLine;
}

MemoryRange own_part(const MemoryRange& range, const GroupMembership& membership) {
  if (!membership.is_sharded()) return range;
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
    if (tensors.empty()) continue;
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
  if (!membership.is_sharded()) return {{0, static_cast<std::size_t>(parameters.block().numel())}};
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
    buckets_[i].values = narrow_to(memory[i % count], 0, part * membership_.members);
    if (membership_.is_sharded()) buckets_[i].part = zeros(part);
  }
}

void GradientExchange::find_places(ParameterStore& parameters) {
  for (StoredLayer& layer : parameters.layers()) {
    for (StoredTensor& tensor : layer.tensors()) {
      const MemoryRange place = place_of(parameters, tensor);
      const auto bucket = std::ranges::find_if(
          buckets_, [&](const Bucket& candidate) { return candidate.range.begin <= place.begin; });
      require(bucket != buckets_.end(), "a tensor that is in no bucket");
      const at::Tensor values = narrow_to(bucket->values, place.begin - bucket->range.begin, size_of(place));
      if (tensor.trainable) {
        bucket->parameters.push_back({&tensor, values});
        continue;
      }
      bucket->buffers.push_back(narrow_to(block_, place.begin, size_of(place)));
      bucket->buffer_values.push_back(values);
      const MemoryRange owned{std::max(place.begin, bucket->owned.begin),
                              std::min(place.end, bucket->owned.end)};
      if (owned.begin < owned.end) {
        const at::Tensor& sums = bucket->part.defined() ? bucket->part : bucket->values;
        bucket->owned_buffers.push_back(narrow_to(block_, owned.begin, size_of(owned)));
        bucket->buffer_sums.push_back(narrow_to(sums, owned.begin - bucket->owned.begin, size_of(owned)));
      }
    }
  }
}

/// The pieces of a bucket follow each other; each belongs to the only bucket that contains its place.
void GradientExchange::find_sums(Bucket& bucket) {
  const std::vector<Optimizer::Piece>& pieces = optimizer_.state().pieces();
  const at::Tensor& sums = bucket.part.defined() ? bucket.part : bucket.values;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const MemoryRange& place = pieces[i].place;
    if (bucket.owned.begin <= place.begin && place.end <= bucket.owned.end) {
      if (bucket.gradients.empty()) bucket.first_piece = i;
      bucket.gradients.push_back(narrow_to(sums, place.begin - bucket.owned.begin, size_of(place)));
    }
  }
}

/// The sum over a part is the same whether only this member sums the part or all members sum all parts.
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
      bucket.slices[member].push_back(bucket.part.defined()
                                          ? narrow_to(bucket.part, begin - first, end - begin)
                                          : narrow_to(bucket.values, begin, end - begin));
    }
  }
}

}  // namespace skyline::train
