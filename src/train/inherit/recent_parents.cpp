#include "train/inherit/recent_parents.hpp"

#include <algorithm>
#include <utility>

namespace skyline::train {
namespace {

bool same_network(const space::Architecture& left, const space::Architecture& right) {
  return &left == &right || left.network.canonical_text() == right.network.canonical_text();
}

}  // namespace

void RecentParents::keep(Entry entry) {
  if (entry->bytes > most_bytes_) return;
  const std::lock_guard lock(mutex_);
  const auto old = std::ranges::find(entries_, entry->trial, &TrainedTensors::trial);
  if (old != entries_.end()) {
    bytes_ -= (*old)->bytes;
    entries_.erase(old);
  }
  bytes_ += entry->bytes;
  entries_.push_front(std::move(entry));
  while (bytes_ > most_bytes_) {
    bytes_ -= entries_.back()->bytes;
    entries_.pop_back();
  }
}

RecentParents::Entry RecentParents::find(const trial::Inherit& inheritance) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(entries_, inheritance.from, &TrainedTensors::trial);
  if (found == entries_.end() || !same_network(*(*found)->architecture, *inheritance.architecture)) {
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, found);
  return *found;
}

void RecentParents::clear() {
  std::list<Entry> gone;
  const std::lock_guard lock(mutex_);
  gone.swap(entries_);
  bytes_ = 0;
}

std::size_t RecentParents::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace skyline::train
