#pragma once

#include "skyline/core/error.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace skyline::comm {

/// Values that mean the same on another rank, byte for byte.
template <typename Value>
concept PlainValue = std::is_trivially_copyable_v<Value> && !std::is_pointer_v<Value>;

/// Writes values as bytes that another rank of this program reads back: plain values, texts, vectors, and any
/// type with a function for_each_field(value, visit), which calls `visit(fields...)`.
class RecordWriter {
 public:
  template <typename... Fields>
  void operator()(Fields&... fields) {
    (write(fields), ...);
  }
  std::string take() { return std::move(record_); }

 private:
  template <typename T>
  void write(T& value) {
    if constexpr (PlainValue<T>) {
      record_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    } else if constexpr (requires { value.resize(1); }) {
      std::uint64_t count = value.size();
      write(count);
      for (auto& each : value) write(each);
    } else {
      for_each_field(value, *this);
    }
  }

  std::string record_;
};

/// Reads a record into values of the same types in the same order. @throws InternalError where it ends,
/// before memory is taken for more than it can hold
class RecordReader {
 public:
  explicit RecordReader(std::string_view record) : rest_(record) {}

  template <typename... Fields>
  void operator()(Fields&... fields) {
    (read(fields), ...);
  }
  bool at_end() const { return rest_.empty(); }

 private:
  template <typename T>
  void read(T& value) {
    if constexpr (PlainValue<T>) {
      require(rest_.size() >= sizeof(value), "a rank's record ends too early");
      std::memcpy(&value, rest_.data(), sizeof(value));
      rest_.remove_prefix(sizeof(value));
    } else if constexpr (requires { value.resize(1); }) {
      std::uint64_t count = 0;
      read(count);
      require(count <= rest_.size(), "a rank's record ends too early");  // an element has a byte at least
      value.resize(count);
      for (auto& each : value) read(each);
    } else {
      for_each_field(value, *this);
    }
  }

  std::string_view rest_;
};

template <typename T>
std::string to_record(T value) {
  RecordWriter writer;
  writer(value);
  return writer.take();
}

template <typename T>
T from_record(std::string_view record) {
  T value{};
  RecordReader reader(record);
  reader(value);
  require(reader.at_end(), "a rank's record goes on behind its end");
  return value;
}

}  // namespace skyline::comm
