#include "train/group/gradient_exchange.hpp"

#include <algorithm>
#include <cstdint>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/empty.h>

namespace skyline::train {

/// Clips the summed gradients of all buckets, when all sums have arrived.
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
  for (; next_ < buckets_.size() && buckets_[next_].first_layer >= layer; ++next_) start(buckets_[next_]);
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
      sources.push_back(in_memory_order(gradient, place.tensor->value));
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
  if (!targets.empty()) at::_foreach_copy_(targets, sources);
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
          return narrow_to(block_, owned.begin, size_of(owned));
        },
        [&](const MemoryRange& range, const at::Tensor& values) {
          narrow_to(block_, range.begin, size_of(range)).copy_(values);
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

void GradientExchange::gather(const ForBucket& own, const UseValues& use) {
  for (std::size_t i = 0; i <= buckets_.size(); ++i) {
    if (i < buckets_.size()) {
      Bucket& bucket = buckets_[i];
      narrow_to(bucket.part, 0, size_of(bucket.owned)).copy_(own(i));
      membership_.reducer->all_gather(bucket.part, bucket.values);
    }
    if (i > 0) {
      const Bucket& bucket = buckets_[i - 1];
      membership_.reducer->join(i < buckets_.size() ? 1 : 0);
      use(bucket.range, narrow_to(bucket.values, 0, size_of(bucket.range)));
    }
  }
}

void GradientExchange::collect_state(std::vector<float>& state, const std::function<void()>& wait) {
  const OptimizerState& optimizer = optimizer_.state();
  at::Tensor staged;  // pinning memory for all parameters would be too much, and without it a copy waits
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
               narrow_to(staged, 0, size_of(range)).copy_(values, true);
               wait();
               optimizer.place(kind, range, staged.const_data_ptr<float>(), state);
             }
           });
  }
}

}  // namespace skyline::train
