#include "train/parameters/optimizer_state.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

namespace skyline::train {
namespace {

/// Returns a tensor that wraps memory of the host.
at::Tensor wrap(const float* values, std::size_t size) {
  return at::from_blob(const_cast<float*>(values), {static_cast<std::int64_t>(size)}, at::kFloat);
}

}  // namespace

OptimizerState::OptimizerState(const OptimizerOptions& options, ParameterStore& parameters,
                               const std::vector<MemoryRange>& owned)
    : kinds_(options.is_adam() ? 2 : 1) {
  for (StoredLayer& layer : parameters.layers()) {
    for (StoredTensor& tensor : layer.tensors()) {
      if (tensor.trainable) {
        const std::size_t first = parameters.offset_of(tensor);
        const auto count = static_cast<std::size_t>(tensor.value.numel());
        all_.push_back(Piece{&tensor,
                             {first, first + count},
                             elements_,
                             tensor.is_weight || options.decayed == OptimizerOptions::Decayed::kAll});
        elements_ += count;
      }
    }
  }
  for (const MemoryRange& range : owned) own(parameters, range);
}

void OptimizerState::own(ParameterStore& parameters, const MemoryRange& range) {
  const at::Tensor& block = parameters.block();
  moments_.push_back(at::zeros({static_cast<std::int64_t>(kinds_), static_cast<std::int64_t>(size_of(range))},
                               block.options()));
  for (const Piece& whole : all_) {
    const MemoryRange place{std::max(whole.place.begin, range.begin), std::min(whole.place.end, range.end)};
    if (place.begin >= place.end) continue;
    Piece& piece = pieces_.emplace_back(
        Piece{whole.tensor, place, whole.position + (place.begin - whole.place.begin), whole.decays});
    piece.value = narrow_to(block, place.begin, size_of(place));
    for (std::size_t kind = 0; kind < kinds_; ++kind) {
      piece.moments[kind] =
          narrow_to(moments(kind, moments_.size() - 1), place.begin - range.begin, size_of(place));
    }
  }
}

at::Tensor OptimizerState::moments(std::size_t kind, std::size_t range) const {
  return moments_.at(range).select(0, static_cast<std::int64_t>(kind));
}

std::vector<FilterPlace> OptimizerState::filters() const {
  std::vector<FilterPlace> filters;
  for (std::size_t kind = 0; kind < kinds_; ++kind) {
    for (const Piece& whole : all_) {
      const at::Tensor& value = whole.tensor->value;
      if (value.dim() == 4) filters.push_back(filter_at(kind * elements_ + whole.position, value));
    }
  }
  return filters;
}

void OptimizerState::write(std::span<float> state) const {
  require(state.size() == size(), "an optimizer's state of another size");
  for (std::size_t kind = 0; kind < kinds_; ++kind) {
    for (const Piece& piece : pieces_) {
      wrap(state.data() + kind * elements_ + piece.position, size_of(piece.place)).copy_(piece.moments[kind]);
    }
  }
}

void OptimizerState::read(std::span<const float> state) {
  require(state.size() == size(), "an optimizer's state of another size");
  for (std::size_t kind = 0; kind < kinds_; ++kind) {
    for (Piece& piece : pieces_) {
      piece.moments[kind].copy_(wrap(state.data() + kind * elements_ + piece.position, size_of(piece.place)));
    }
  }
}

void OptimizerState::place(std::size_t kind, const MemoryRange& range, const float* values,
                           std::span<float> state) const {
  for (const Piece& whole : all_) {
    if (whole.place.begin >= range.begin && whole.place.begin < range.end) {
      std::copy_n(values + (whole.place.begin - range.begin), size_of(whole.place),
                  state.data() + kind * elements_ + whole.position);
    }
  }
}

}  // namespace skyline::train
