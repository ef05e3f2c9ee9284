#include "train/device/device_network.hpp"

#include "skyline/core/error.hpp"

#include "train/kernels/dropout.hpp"

#include <utility>

#include <ATen/autocast_mode.h>  // all of ATen: in this file alone
#include <ATen/ops/ones.h>

namespace skyline::train {
namespace {

/// Dropout's reference draws on the host, so devices have their own version.
constexpr const char* kDropout = "dropout";
/// Batch norm, which subtracts each channel's mean.
constexpr const char* kBatchNorm = "batch_norm";

}  // namespace

DeviceNetwork::DeviceNetwork(const space::Network& network, std::uint64_t seed, Accelerator& accelerator,
                             const c10::Device& device)
    : network_(network),
      accelerator_(accelerator),
      parameters_(network, seed),
      pieces_(network.layers.size()),
      norms_(network.layers.size()) {
  require(!network.layers.empty(), "a network without layers");
  parameters_.move_to(device);
  for (StoredLayer& layer : parameters_.layers()) {
    for (StoredTensor& tensor : layer.tensors()) {
      tensor.value.set_requires_grad(tensor.trainable);
    }
  }
  find_last_readers();
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    add_layer(i);
  }
}

void DeviceNetwork::find_last_readers() {
  last_reader_.assign(network_.layers.size(), network_.layers.size());
  readers_.assign(network_.layers.size(), 0);
  for (std::size_t i = 0; i < network_.layers.size(); ++i) {
    for (const std::size_t input : network_.layers[i].inputs) {
      last_reader_[input] = i;
      ++readers_[input];
    }
  }
}

void DeviceNetwork::add_layer(std::size_t index) {
  const space::Layer& layer = network_.layers[index];
  if (layer.kind == kDropout) {
    drawing_layers_.push_back(layer.name);
    ops_.push_back(nullptr);
    return;
  }
  ops_.push_back(make_layer_op(layer, parameters_.layer(index)));
  may_be_recorded_ = may_be_recorded_ && ops_.back()->may_be_recorded();
  if (layer.kind == kBatchNorm) {
    leave_out_removed_offset(index);
  }
}

/// Leaves out an offset that the next batch norm removes: its true gradient is zero. A computed one would be
/// rounding noise, which Adam scales up (docs/internals/training.md).
void DeviceNetwork::leave_out_removed_offset(std::size_t index) {
  const std::vector<std::size_t>& inputs = network_.layers[index].inputs;
  if (inputs.size() != 1 || readers_[inputs.front()] != 1 || ops_[inputs.front()] == nullptr) {
    return;
  }
  auto* const producer = dynamic_cast<FusedOp*>(ops_[inputs.front()].get());
  const at::Tensor* offset = producer == nullptr ? nullptr : producer->defer_offset();
  for (StoredTensor& tensor : parameters_.layer(inputs.front()).tensors()) {
    if (&tensor.value == offset) {
      tensor.value.set_requires_grad(false);
    }
  }
}

void DeviceNetwork::begin_step(std::uint64_t seed) {
  for (const std::unique_ptr<LayerOp>& op : ops_) {
    if (op != nullptr) {
      op->begin_step(seed);
    }
  }
}

void DeviceNetwork::synchronize(const DeviceMembership& membership) {
  for (std::size_t i = 0; i < network_.layers.size(); ++i) {
    if (network_.layers[i].kind == kBatchNorm) {
      norms_[i] = std::make_unique<SynchronizedNorm>(network_.layers[i], parameters_.layer(i), membership);
      pieces_.cut_before(i);
      pieces_.cut_before(i + 1);
    }
  }
}

template <typename Read, typename Run>
at::Tensor DeviceNetwork::run(const at::Tensor& images, const Read& read, const Run& run_layer) {
  std::vector<at::Tensor> outputs(network_.layers.size());
  for (std::size_t i = 0; i < network_.layers.size(); ++i) {
    const std::vector<std::size_t>& sources = network_.layers[i].inputs;
    Activations inputs;
    for (const std::size_t source : sources) {
      inputs.push_back(read(i, source, outputs[source]));
    }
    if (inputs.empty()) {
      inputs.push_back(images);
    }
    outputs[i] = run_layer(i, inputs);
    for (const std::size_t source : sources) {
      if (last_reader_[source] == i) {
        outputs[source].reset();
      }
    }
  }
  return read(outputs.size(), outputs.size() - 1, outputs.back()).flatten(1);
}

at::Tensor DeviceNetwork::train(const Part& part) {
  pieces_.begin();
  if (!part.images.defined()) {
    for (const std::unique_ptr<SynchronizedNorm>& norm : norms_) {
      if (norm != nullptr) {
        norm->forward(at::Tensor(), part.batch);
      }
    }
    return {};
  }
  std::int64_t drawn = 0;
  return run(
      part.images,
      [this](std::size_t reader, std::size_t source, const at::Tensor& output) {
        return read_output(reader, source, output);
      },
      [&](std::size_t i, const Activations& inputs) { return train_layer(i, inputs, part, drawn); });
}

at::Tensor DeviceNetwork::read_output(std::size_t reader, std::size_t source, const at::Tensor& output) {
  return pieces_.enter(reader, source, output, output.requires_grad() || norms_[source] != nullptr);
}

at::Tensor DeviceNetwork::train_layer(std::size_t index, const Activations& inputs, const Part& part,
                                      std::int64_t& drawn) {
  if (ops_[index] == nullptr) {
    return drop(inputs.front(), network_.layers[index], part.seeds.select(0, drawn++), part.first_sample);
  }
  if (norms_[index] != nullptr) {
    return norms_[index]->forward(inputs.front(), part.batch);
  }
  return ops_[index]->reference(inputs, true);
}

void DeviceNetwork::backward(const at::Tensor& loss, const std::function<void(std::size_t)>& layer_done) {
  for (std::size_t piece = pieces_.count(); piece-- > 0;) {
    const std::size_t first = pieces_.first_layer(piece);
    if (first < norms_.size() && norms_[first] != nullptr) {
      pieces_.pass_on(piece, norms_[first]->backward(pieces_.gradient_of(first), pieces_.is_entered(piece)));
    } else if (loss.defined()) {
      pieces_.differentiate(piece, loss);
    }
    if (layer_done) {
      layer_done(first);
    }
  }
}

at::Tensor DeviceNetwork::infer(const at::Tensor& images) {
  return run(
      images, [](std::size_t, std::size_t, const at::Tensor& output) { return output; },
      [&](std::size_t i, const Activations& inputs) {
        return ops_[i] == nullptr ? inputs.front() : ops_[i]->reference(inputs, false);
      });
}

/// Draws the same as the CPU for the elements from the first one of `first_sample` on, in channels_last
/// order.
at::Tensor DeviceNetwork::drop(const at::Tensor& input, const space::Layer& layer, const at::Tensor& seed,
                               std::int64_t first_sample) {
  // Two elements share a draw, and draws are one step of the seed apart (kernels/dropout.hpp), so the mask
  // may begin at any even element.
  const std::int64_t first = first_sample * layer.input().elements();
  const auto step = static_cast<std::int64_t>(kernels::kSplitMixStep * static_cast<std::uint64_t>(first / 2));
  at::Tensor mask = at::ones({first % 2 + input.numel()}, input.options().dtype(at::kFloat));
  accelerator_.dropout(mask, seed.add(step), space::attribute_number(layer, "probability"));
  const at::Tensor kept = mask.narrow(0, first % 2, input.numel())
                              .view({input.size(0), input.size(2), input.size(3), input.size(1)})
                              .permute({0, 3, 1, 2});
  return input.mul(kept.to(input.scalar_type()));
}

AutocastScope::AutocastScope(at::DeviceType device, bool wanted)
    : device_(device),
      was_enabled_(at::autocast::is_autocast_enabled(device)),
      was_cached_(at::autocast::is_autocast_cache_enabled()) {
  if (wanted) {
    at::autocast::set_autocast_dtype(device, at::kBFloat16);
  }
  at::autocast::set_autocast_cache_enabled(false);
  at::autocast::set_autocast_enabled(device, wanted);
}

AutocastScope::~AutocastScope() {
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_cache_enabled(was_cached_);
}

}  // namespace skyline::train
