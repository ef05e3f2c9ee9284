#pragma once

#include "skyline/core/error.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skyline {

/// Things that a configuration can name: layer kinds, algorithms, evaluators. Pointers to entries stay valid.
/// `fill` adds built-in entries; a static library would drop static objects. Thread-safe.
template <typename Entry>
class Registry {
 public:
  /// @param noun  word for an entry in error messages, e.g. "layer kind"
  Registry(std::string noun, void (*fill)(Registry& built_in)) : noun_(std::move(noun)) { fill(*this); }

  /// Adds an entry. @throws InternalError if the name is taken
  void add(std::string_view name, Entry entry) {
    const std::lock_guard lock(mutex_);
    if (!entries_.emplace(name, std::move(entry)).second) {
      throw InternalError("the " + noun_ + " `" + std::string(name) + "` is registered already");
    }
  }
  /// Returns the entry of this name, or nullptr if there is none.
  const Entry* find(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : &found->second;
  }
  /// Returns all names in alphabetical order.
  std::vector<std::string> names() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_) names.push_back(name);
    return names;
  }

 private:
  std::string noun_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace skyline
