#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace skyline {

/// Shared values by key, up to a number of bytes; the least recently used go first. Thread-safe.
template <typename Key, typename Value>
class LruCache {
 public:
  using Entry = std::shared_ptr<const Value>;

  /// @param most_bytes  of all values
  explicit LruCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}
  std::size_t most_bytes() const { return most_bytes_; }

  /// Shares the value in the place of the one that the key had; a value that is too large is left out.
  void keep(const Key& key, Entry value, std::size_t bytes) {
    if (bytes > most_bytes_) return;
    const std::lock_guard lock(mutex_);
    if (const auto old = place_of(key); old != items_.end()) remove(old);
    items_.push_front({key, std::move(value), bytes});
    bytes_ += bytes;
    while (bytes_ > most_bytes_) remove(std::prev(items_.end()));
  }

  /// nullptr: it is not here, or not the one that is `wanted`, a predicate of the value.
  template <typename Wanted>
  Entry find(const Key& key, const Wanted& wanted) {
    const std::lock_guard lock(mutex_);
    const auto found = place_of(key);
    if (found == items_.end() || !wanted(*found->value)) return nullptr;
    items_.splice(items_.begin(), items_, found);
    return found->value;
  }
  Entry find(const Key& key) {
    return find(key, [](const Value&) { return true; });
  }

  void clear() {
    std::list<Item> gone;  // destroyed without the lock
    const std::lock_guard lock(mutex_);
    gone.swap(items_);
    bytes_ = 0;
  }

  std::size_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  struct Item {
    Key key;
    Entry value;
    std::size_t bytes = 0;
  };
  using Place = typename std::list<Item>::iterator;

  Place place_of(const Key& key) {
    Place place = items_.begin();
    while (place != items_.end() && !(place->key == key)) ++place;
    return place;
  }
  void remove(Place place) {
    bytes_ -= place->bytes;
    items_.erase(place);
  }

  const std::size_t most_bytes_;
  mutable std::mutex mutex_;  // of all below
  std::list<Item> items_;     // the latest used first
  std::size_t bytes_ = 0;
};

}  // namespace skyline
