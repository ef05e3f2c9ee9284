#pragma once

#include "skyline/core/error.hpp"

#include <charconv>
#include <cstddef>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace skyline::comm {

/// Writes values as a text that another rank of this program reads back: texts, whole numbers, enumerations,
/// vectors of them, and any type with a function for_each_field(value, visit).
class RecordWriter {
 public:
  template <typename T>
  void operator()(T& value) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      number(static_cast<int>(value));
    } else if constexpr (std::is_same_v<T, std::string>) {
      number(static_cast<int>(value.size()));
      record_ += value;
    } else if constexpr (requires { value.resize(1); }) {
      number(static_cast<int>(value.size()));
      for (auto& each : value) (*this)(each);
    } else {
      for_each_field(value, *this);
    }
  }
  std::string take() { return std::move(record_); }

 private:
  void number(int value) { record_ += std::to_string(value) + ' '; }

  std::string record_;
};

/// Reads a record into values of the same types in the same order. @throws InternalError where it holds
/// something else, or ends
class RecordReader {
 public:
  explicit RecordReader(std::string record) : record_(std::move(record)) {}

  template <typename T>
  void operator()(T& value) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      value = static_cast<T>(number());
    } else if constexpr (std::is_same_v<T, std::string>) {
      const std::size_t length = count();
      require(record_.size() - position_ >= length, "a rank's record ends inside a text");
      value = record_.substr(std::exchange(position_, position_ + length), length);
    } else if constexpr (requires { value.resize(1); }) {
      value.resize(count());
      for (auto& each : value) (*this)(each);
    } else {
      for_each_field(value, *this);
    }
  }

 private:
  int number() {
    int value = 0;
    const char* const end = record_.data() + record_.size();
    const auto [after, error] = std::from_chars(record_.data() + position_, end, value);
    require(error == std::errc() && after != end && *after == ' ', "a rank's record has no number here");
    position_ = static_cast<std::size_t>(after - record_.data()) + 1;
    return value;
  }
  std::size_t count() {
    const int value = number();
    require(value >= 0 && static_cast<std::size_t>(value) <= record_.size(),
            "a rank's record has no count here");
    return static_cast<std::size_t>(value);
  }

  std::string record_;
  std::size_t position_ = 0;
};

template <typename T>
std::string to_record(T value) {
  RecordWriter writer;
  writer(value);
  return writer.take();
}

template <typename T>
T from_record(std::string record) {
  T value{};
  RecordReader(std::move(record))(value);
  return value;
}

}  // namespace skyline::comm
