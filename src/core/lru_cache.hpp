#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace skyline {

/// Shares values by key, up to a number of bytes in all; the least recently used go first. Thread-safe.
template <typename Key, typename Value>
class LruCache {
 public:
  using Entry = std::shared_ptr<const Value>;

  /// @param most_bytes  limit for all values together
  explicit LruCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}
  std::size_t most_bytes() const { return most_bytes_; }

  /// Keeps the value, instead of an earlier one of this key. A value that is too large is not kept.
  void keep(const Key& key, Entry value, std::size_t bytes) {
    if (bytes > most_bytes_) return;
    const std::lock_guard lock(mutex_);
    if (const auto old = place_of(key); old != items_.end()) remove(old);
    items_.push_front({key, std::move(value), bytes});
    bytes_ += bytes;
    while (bytes_ > most_bytes_) remove(std::prev(items_.end()));
  }

  /// Returns the value of the key if it is kept and `wanted` returns true for it, else nullptr.
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
    std::list<Item> gone;  // destroyed after the lock is released
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
  using Iterator = typename std::list<Item>::iterator;

  Iterator place_of(const Key& key) {
    Iterator place = items_.begin();
    while (place != items_.end() && !(place->key == key)) ++place;
    return place;
  }
  void remove(Iterator place) {
    bytes_ -= place->bytes;
    items_.erase(place);
  }

  const std::size_t most_bytes_;
  mutable std::mutex mutex_;  // guards all members below
  std::list<Item> items_;     // the most recently used first
  std::size_t bytes_ = 0;
};

}  // namespace skyline
