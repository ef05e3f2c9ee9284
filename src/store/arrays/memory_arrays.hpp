#pragma once

#include "skyline/core/error.hpp"

#include "store/arrays/source_array.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace skyline::store {

/// The words of a column.
class WordColumn {
 public:
  void add(const std::string& word) {
    const auto [place, is_new] = known_.try_emplace(word, static_cast<std::uint32_t>(words.size()));
    if (is_new) words.push_back(word);
    places.push_back(place->second);
  }
  std::vector<std::string> words;     // the different ones
  std::vector<std::uint32_t> places;  // index into the words for each row

 private:
  std::unordered_map<std::string, std::uint32_t> known_;
};

/// An array in memory.
template <typename Value>
class MemoryStream final : public ArrayStream {
 public:
  explicit MemoryStream(std::shared_ptr<const std::vector<Value>> values) : values_(std::move(values)) {}
  void read(std::span<std::byte> bytes) override {
    const auto all = std::as_bytes(std::span(*values_));
    require(place_ + bytes.size() <= all.size(), "read beyond the end of an array");
    std::ranges::copy(all.subspan(place_, bytes.size()), bytes.begin());
    place_ += bytes.size();
  }

 private:
  std::shared_ptr<const std::vector<Value>> values_;
  std::size_t place_ = 0;
};

/// Makes an array that is read from memory.
template <typename Value>
void open_from_memory(SourceArray& array, ElementType::Kind kind, std::vector<Value> values) {
  array.type = {kind, sizeof(Value)};
  auto shared = std::make_shared<const std::vector<Value>>(std::move(values));
  array.open = [shared] { return std::make_unique<MemoryStream<Value>>(shared); };
}

/// Makes an array of words.
inline void open_words(SourceArray& array, WordColumn column) {
  array.words = std::move(column.words);
  open_from_memory(array, ElementType::Kind::kUnsigned, std::move(column.places));
}

}  // namespace skyline::store
