#pragma once

#include "skyline/trial/trial_group.hpp"

#include "train/options/training_options.hpp"
#include "train/parameters/parameter_store.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace skyline::train {

/// A range of a store's memory, in floats.
using MemoryRange = trial::Part;

inline std::size_t size_of(const MemoryRange& range) {
  return range.end - range.begin;
}

inline at::Tensor narrow_to(const at::Tensor& values, std::size_t begin, std::size_t size) {
  return values.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(size));
}

/// The numbers that an optimizer keeps for each parameter, on the parameters' device. The whole state is one
/// array: the first moments (or velocities) of all parameters in the order of the store, without padding,
/// then Adam's second moments in the same order. An optimizer that owns a part of the parameters holds the
/// numbers of that part only.
class OptimizerState {
 public:
  /// A parameter, or the owned piece of it. Values are in the order of memory: [elements].
  struct Piece {
    StoredTensor* tensor;
    MemoryRange place;     // in the store's memory
    std::size_t position;  // among the numbers of a kind
    bool decays;           // whether weight decay takes it
    at::Tensor value = {};
    at::Tensor moments[2] = {};
  };

  /// @param parameters  on their device; outlive the state
  /// @param owned       disjoint ranges of the store's memory
  OptimizerState(const OptimizerOptions& options, ParameterStore& parameters,
                 const std::vector<MemoryRange>& owned);

  const std::vector<Piece>& pieces() const { return pieces_; }
  /// Numbers per parameter.
  std::size_t kinds() const { return kinds_; }
  /// Floats of the whole state, not only of the owned part.
  std::size_t size() const { return kinds_ * elements_; }
  /// The numbers of one kind for an owned range, laid out like its memory.
  at::Tensor moments(std::size_t kind, std::size_t range) const;

  /// Copies the owned numbers into, or out of, the whole state.
  void write(std::span<float> state) const;
  void read(std::span<const float> state);
  /// Copies numbers of one kind, laid out like the memory in `range`, into the whole state; it begins and
  /// ends with a parameter.
  void place(std::size_t kind, const MemoryRange& range, const float* values, std::span<float> state) const;

 private:
  void own(ParameterStore& parameters, const MemoryRange& range);

  std::size_t kinds_;
  std::size_t elements_ = 0;         // of all parameters
  std::vector<Piece> all_;           // whole parameters, without values
  std::vector<Piece> pieces_;        // owned
  std::vector<at::Tensor> moments_;  // of each owned range: [kinds, size]
};

}  // namespace skyline::train
