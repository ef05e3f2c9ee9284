#include "train/group/group_agreement.hpp"

#include <algorithm>
#include <cstdint>

namespace skyline::train {
namespace {

template <typename T>
void broadcast_values(trial::TrialGroup& group, T* values, std::size_t count) {
  if (count > 0) group.broadcast(std::as_writable_bytes(std::span(values, count)));
}

/// Broadcasts a text or a vector. The leader's size counts.
template <typename Sequence>
void broadcast_sequence(trial::TrialGroup& group, Sequence& sequence) {
  std::uint64_t size = sequence.size();
  broadcast_values(group, &size, 1);
  sequence.resize(size);
  broadcast_values(group, sequence.data(), sequence.size());
}

/// Broadcasts the number of items, then the name of each.
template <typename Named>
void broadcast_names(trial::TrialGroup& group, std::vector<Named>& list) {
  std::uint64_t count = list.size();
  broadcast_values(group, &count, 1);
  list.resize(count);
  for (Named& item : list) broadcast_sequence(group, item.name);
}

}  // namespace

Wishes agree(trial::TrialGroup& group, std::span<double> values, const Wishes& mine) {
  std::vector<double> message(values.begin(), values.end());
  message.push_back(mine.stop ? 1 : 0);
  message.push_back(mine.save ? 1 : 0);
  group.sum(message);
  std::copy_n(message.begin(), values.size(), values.begin());
  return {message[values.size()] > 0, message[values.size() + 1] > 0};
}

void broadcast_numbers(trial::TrialGroup& group, std::span<double> numbers) {
  broadcast_values(group, numbers.data(), numbers.size());
}

void broadcast_state(trial::TrialGroup& group, trial::TrainingState& state) {
  broadcast_values(group, &state.step, 1);
  broadcast_names(group, state.arrays);
  for (trial::TrainingState::Array& array : state.arrays) broadcast_sequence(group, array.values);
  broadcast_names(group, state.numbers);
  for (trial::TrainingState::Number& number : state.numbers) broadcast_values(group, &number.value, 1);
}

void broadcast_tensors(trial::TrialGroup& group, std::vector<trial::NamedTensor>& tensors) {
  for (trial::NamedTensor& tensor : tensors) {
    broadcast_values(group, tensor.values.data(), tensor.values.size());
  }
}

}  // namespace skyline::train
