#include "engine/weights/recent_weights.hpp"

#include <algorithm>
#include <utility>

namespace skyline::engine {

std::size_t tensor_bytes(const store::WeightsFile& file) {
  std::size_t bytes = 0;
  for (const trial::NamedTensor& tensor : file.tensors) bytes += tensor.values.size() * sizeof(float);
  return bytes;
}

void RecentWeights::keep(File file) {
  const std::size_t bytes = tensor_bytes(*file);
  if (bytes > most_bytes_) return;
  const std::lock_guard lock(mutex_);
  const bool is_here =
      std::ranges::any_of(files_, [&](const File& known) { return known->trial == file->trial; });
  if (is_here) return;  // two slots may have fetched them at once
  files_.push_front(std::move(file));
  bytes_ += bytes;
  while (bytes_ > most_bytes_) {
    bytes_ -= tensor_bytes(*files_.back());
    files_.pop_back();
  }
}

RecentWeights::File RecentWeights::find(trial::TrialNumber trial) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(files_, [trial](const File& file) { return file->trial == trial; });
  if (found == files_.end()) return nullptr;
  files_.splice(files_.begin(), files_, found);
  return files_.front();
}

}  // namespace skyline::engine
