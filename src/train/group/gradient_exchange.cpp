#include "train/group/gradient_exchange.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

namespace skyline::train {
namespace {

MemoryRange own_part(const GradientBucket& bucket, const GroupMembership& membership) {
  if (!membership.is_sharded()) {
    return bucket.range;
  }
  const std::size_t size = bucket.range.end - bucket.range.begin;
  const trial::Part part = trial::part_of(size, membership.group->members(), membership.group->member());
  return {bucket.range.begin + part.begin, bucket.range.begin + part.end};
}

std::span<float> values_of(at::Tensor& tensor) {
  return {tensor.mutable_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace

std::vector<GradientBucket> gradient_buckets(ParameterStore& parameters, std::size_t bytes,
                                             std::optional<std::size_t> first_bytes) {
  std::vector<GradientBucket> buckets;
  auto end = static_cast<std::size_t>(parameters.block().numel());
  for (std::size_t layer = parameters.layers().size(); layer-- > 0;) {
    const std::vector<StoredTensor>& tensors = parameters.layer(layer).tensors();
    if (tensors.empty()) {
      continue;
    }
    const std::size_t begin = parameters.offset_of(tensors.front());
    const std::size_t least = buckets.empty() ? first_bytes.value_or(bytes) : bytes;
    if ((end - begin) * sizeof(float) >= least || begin == 0) {
      buckets.push_back({{begin, end}, layer});
      end = begin;
    }
  }
  return buckets;
}

std::vector<MemoryRange> owned_ranges(const std::vector<GradientBucket>& buckets,
                                      const GroupMembership& membership, ParameterStore& parameters) {
  if (!membership.is_sharded()) {
    return {{0, parameters.memory().size()}};
  }
  std::vector<MemoryRange> owned;
  for (const GradientBucket& bucket : buckets) {
    owned.push_back(own_part(bucket, membership));
  }
  return owned;
}

GradientExchange::GradientExchange(const GroupMembership& membership, std::vector<GradientBucket> buckets,
                                   ParameterStore& parameters, Optimizer& optimizer)
    : membership_(membership),
      parameters_(parameters),
      optimizer_(optimizer),
      dropped_(at::empty({0}, at::kFloat)) {
  for (const GradientBucket& bucket : buckets) {
    buckets_.push_back(
        {.range = bucket.range, .first_layer = bucket.first_layer, .owned = own_part(bucket, membership)});
  }
  for (StoredLayer& layer : parameters.layers()) {
    std::vector<Tensor>& tensors = layers_.emplace_back();
    for (StoredTensor& stored : layer.tensors()) {
      tensors.push_back(
          {&stored, parameters.offset_of(stored), static_cast<std::size_t>(stored.value.numel())});
    }
  }
  for (Bucket& bucket : buckets_) {
    for (const std::vector<Tensor>& tensors : layers_) {
      std::ranges::copy_if(tensors, std::back_inserter(bucket.buffers), [&](const Tensor& tensor) {
        return !tensor.stored->trainable && tensor.offset >= bucket.range.begin &&
               tensor.offset < bucket.range.end;
      });
    }
  }
}

void GradientExchange::begin_step(std::size_t samples, std::size_t batch) {
  samples_ = static_cast<float>(samples);
  batch_ = static_cast<float>(batch);
  next_layer_ = layers_.size();
  filling_ = 0;
  arriving_ = 0;
  optimizer_.begin_step();
}

void GradientExchange::layer_done(std::size_t layer) {
  while (next_layer_ > layer) {
    --next_layer_;
    if (layers_[next_layer_].empty()) {
      continue;
    }
    Bucket& bucket = buckets_[filling_];
    if (!bucket.values.defined()) {
      bucket.values =
          at::zeros({static_cast<std::int64_t>(bucket.range.end - bucket.range.begin)}, at::kFloat);
    }
    for (const Tensor& tensor : layers_[next_layer_]) {
      copy_in(bucket, tensor);
    }
    if (next_layer_ == bucket.first_layer) {
      start(bucket);
      ++filling_;
    }
  }
  progress();
}

void GradientExchange::copy_in(Bucket& bucket, const Tensor& tensor) {
  float* target = bucket.values.mutable_data_ptr<float>() + (tensor.offset - bucket.range.begin);
  if (!tensor.stored->trainable) {
    const float* value = tensor.stored->value.const_data_ptr<float>();
    std::transform(value, value + tensor.count, target, [this](float v) { return v * samples_; });
    return;
  }
  at::Tensor& gradient = tensor.stored->gradient;
  if (!gradient.defined() || gradient.numel() == 0) {
    return;  // no op has set a gradient
  }
  order_like_parameter(gradient);
  require(static_cast<std::size_t>(gradient.numel()) == tensor.count,
          "a gradient has another size than its parameter");
  std::copy_n(gradient.const_data_ptr<float>(), tensor.count, target);
  // Ops write the gradients of vectors into the same memory in each step, and make those of matrices anew.
  if (drops_gradients() && gradient.dim() > 1) {
    gradient = dropped_;
  }
}

void GradientExchange::start(Bucket& bucket) {
  trial::TrialGroup& group = *membership_.group;
  bucket.sum = drops_gradients() ? group.reduce_scatter(values_of(bucket.values))
                                 : group.all_reduce(values_of(bucket.values));
}

void GradientExchange::progress() {
  while (arriving_ < filling_ && buckets_[arriving_].sum->test()) {
    use_sum(buckets_[arriving_]);
    ++arriving_;
  }
}

void GradientExchange::use_sum(Bucket& bucket) {
  bucket.sum.reset();
  const float* values = bucket.values.const_data_ptr<float>();
  optimizer_.update(bucket.owned, values + (bucket.owned.begin - bucket.range.begin));
  for (const Tensor& buffer : bucket.buffers) {
    float* value = buffer.stored->value.mutable_data_ptr<float>();
    const std::size_t begin = std::max(buffer.offset, bucket.owned.begin);
    const std::size_t end = std::min(buffer.offset + buffer.count, bucket.owned.end);
    for (std::size_t i = begin; i < end; ++i) {
      value[i - buffer.offset] = values[i - bucket.range.begin] / batch_;
    }
  }
  bucket.values.reset();
}

void GradientExchange::finish_step() {
  layer_done(0);
  const std::span<float> memory = parameters_.memory();
  for (; arriving_ < buckets_.size(); ++arriving_) {
    buckets_[arriving_].sum->wait();
    use_sum(buckets_[arriving_]);
  }
  if (!membership_.is_sharded()) {
    return;
  }
  for (Bucket& bucket : buckets_) {
    bucket.gather = membership_.group->all_gather(
        memory.subspan(bucket.range.begin, bucket.range.end - bucket.range.begin));
  }
  for (Bucket& bucket : buckets_) {
    bucket.gather->wait();
    bucket.gather.reset();
  }
}

void GradientExchange::collect_state(std::vector<float>& state) {
  const bool leads = membership_.group->member() == 0;
  const OptimizerState& optimizer = optimizer_.state();
  if (leads) {
    state.resize(optimizer.size());
  }
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const Bucket& bucket = buckets_[i];
    std::vector<float> values(size_of(bucket.range));
    for (std::size_t kind = 0; kind < optimizer.kinds(); ++kind) {
      std::copy_n(optimizer.moments(kind, i).const_data_ptr<float>(), size_of(bucket.owned),
                  values.data() + (bucket.owned.begin - bucket.range.begin));
      membership_.group->all_gather(values)->wait();
      if (leads) {
        optimizer.place(kind, bucket.range, values.data(), state);
      }
    }
  }
}

}  // namespace skyline::train
