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
using MemoryRange = trial::Shard;

inline std::size_t size_of(const MemoryRange& range) {
  return range.end - range.begin;
}

inline at::Tensor narrow_to(const at::Tensor& values, std::size_t begin, std::size_t size) {
  return values.narrow(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(size));
}

/// The numbers that an optimizer keeps for each parameter, on the parameters' device. The whole state is one
/// array: the first moments (or velocities) of all parameters in the order of the store, without padding,
/// then Adam's second moments in the same order. An optimizer that owns a part of the parameters holds only
/// the numbers of that part.
class OptimizerState {
 public:
  /// A parameter, or the owned piece of it. Values are in the order of memory: [elements].
  struct Piece {
    StoredTensor* tensor;
    MemoryRange place;     // place in the store's memory
    std::size_t position;  // place among the numbers of a kind
    bool decays;           // whether weight decay applies to it
    at::Tensor value = {};
    at::Tensor moments[2] = {};
  };

  /// @param parameters  on their device; must outlive the state
  /// @param owned       disjoint ranges of the store's memory
  OptimizerState(const OptimizerOptions& options, ParameterStore& parameters,
                 const std::vector<MemoryRange>& owned);

  const std::vector<Piece>& pieces() const { return pieces_; }
  /// Returns how many numbers each parameter has.
  std::size_t kinds() const { return kinds_; }
  /// Returns the floats of the whole state, not only of the owned part.
  std::size_t size() const { return kinds_ * elements_; }
  /// Returns the numbers of one kind for an owned range, laid out like its memory.
  at::Tensor moments(std::size_t kind, std::size_t range) const;

  /// Returns the places in the whole state of filters' numbers.
  std::vector<FilterPlace> filters() const;

  /// Copy the owned numbers into the whole state, or out of it.
  void write(std::span<float> state) const;
  void read(std::span<const float> state);
  /// Copies numbers of one kind, laid out like the memory in `range`, into the whole state. The range begins
  /// and ends with a parameter.
  void place(std::size_t kind, const MemoryRange& range, const float* values, std::span<float> state) const;

 private:
  void own(ParameterStore& parameters, const MemoryRange& range);

  std::size_t kinds_;
  std::size_t elements_ = 0;         // number of elements of all parameters
  std::vector<Piece> all_;           // whole parameters, without values
  std::vector<Piece> pieces_;        // owned pieces
  std::vector<at::Tensor> moments_;  // [kinds, size] for each owned range
};

}  // namespace skyline::train
