#pragma once

#include "skyline/core/error.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace skyline {

/// Types whose bytes have the same meaning in another process of this job: no pointers, no spans.
template <typename Value>
concept PlainValue = std::is_trivially_copyable_v<Value> && !std::is_pointer_v<Value> &&
                     !std::ranges::enable_borrowed_range<Value>;

/// Whole numbers, which take as few bytes as they need, since most are small.
template <typename Value>
concept CompactValue = std::integral<Value> && sizeof(Value) > 1;

/// Texts, and vectors whose elements are copied bytewise.
template <typename Values>
concept PlainValues = requires(Values& values) {
  values.data();
}
&&PlainValue<typename Values::value_type> && !CompactValue<typename Values::value_type>;

/// std::optional and smart pointers.
template <typename Value>
concept MaybeValue = requires(Value& value) {
  *value;
  value.reset();
};

/// Appends values to a record, as bytes that any process of this job can read: plain values, texts, vectors,
/// optional, shared and variant ones, and any type with a function for_each_field(value, visit), which calls
/// `visit(fields...)`.
class RecordWriter {
 public:
  explicit RecordWriter(std::string& record) : record_(record) {}

  template <typename... Fields>
  void operator()(const Fields&... fields) {
    (write(fields), ...);
  }

 private:
  template <typename T>
  void write(const T& value) {
    if constexpr (CompactValue<T>) {
      write_whole(static_cast<std::make_unsigned_t<T>>(value));
    } else if constexpr (MaybeValue<T>) {
      record_ += static_cast<char>(value ? 1 : 0);
      if (value) write(*value);
    } else if constexpr (PlainValue<T>) {
      record_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    } else if constexpr (requires { value.valueless_by_exception(); }) {
      record_ += static_cast<char>(value.index());
      std::visit([this](const auto& alternative) { write(alternative); }, value);
    } else if constexpr (requires { value.size(); }) {
      write_whole(value.size());
      if constexpr (PlainValues<T>) {
        record_.append(reinterpret_cast<const char*>(value.data()), value.size() * sizeof(*value.data()));
      } else {
        for (const auto& each : value) write(each);
      }
    } else {
      for_each_field(const_cast<T&>(value), *this);  // the same list is used by readers, which change the
                                                     // fields
    }
  }
  void write_whole(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) record_ += static_cast<char>(value | 0x80U);
    record_ += static_cast<char>(value);
  }

  std::string& record_;
};

/// Reads a record into values of the same types in the same order. @throws InternalError if the record ends
/// early or is damaged, before memory is allocated for more than it can hold
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
    if constexpr (CompactValue<T>) {
      const std::uint64_t whole = read_whole();
      require(whole <= std::numeric_limits<std::make_unsigned_t<T>>::max(),
              "a number of a record is too large");
      value = static_cast<T>(whole);
    } else if constexpr (MaybeValue<T>) {
      value.reset();
      if (read_byte() != 0) read_content(value);
    } else if constexpr (PlainValue<T>) {
      require(rest_.size() >= sizeof(value), "a record ends too early");
      std::memcpy(&value, rest_.data(), sizeof(value));
      rest_.remove_prefix(sizeof(value));
    } else if constexpr (requires { value.valueless_by_exception(); }) {
      read_alternative<0>(value, read_byte());
    } else if constexpr (requires { value.resize(1); }) {
      const std::uint64_t count = read_whole();
      constexpr std::size_t kLeast =
          PlainValues<T> ? sizeof(typename T::value_type) : 1;  // size of an element in bytes
      require(count <= rest_.size() / kLeast, "a record ends too early");
      // Large elements may take one byte of a record: memory is then only taken for those that are there.
      constexpr bool kGrows = !PlainValues<T> && sizeof(typename T::value_type) > sizeof(std::uint64_t);
      value.resize(kGrows ? 0 : count);
      if constexpr (PlainValues<T>) {
        rest_.remove_prefix(rest_.copy(reinterpret_cast<char*>(value.data()), count * kLeast));
      } else {
        for (std::size_t i = 0; i < count; ++i) {
          typename T::value_type each{};
          read(each);
          if constexpr (kGrows) {
            value.push_back(std::move(each));
          } else {
            value[i] = std::move(each);
          }
        }
      }
    } else {
      for_each_field(value, *this);
    }
  }
  template <typename T>
  void read_content(T& value) {
    if constexpr (requires { value.emplace(); }) {
      read(value.emplace());
    } else {
      auto content = std::make_shared<std::remove_const_t<typename T::element_type>>();
      read(*content);
      value = std::move(content);
    }
  }
  template <std::size_t i, typename Variant>
  void read_alternative(Variant& value, std::size_t index) {
    if constexpr (i < std::variant_size_v<Variant>) {
      if (index != i) return read_alternative<i + 1>(value, index);
      read(value.template emplace<i>());
    } else {
      throw InternalError("a record has an alternative that its type lacks");
    }
  }
  std::uint8_t read_byte() {
    std::uint8_t byte = 0;
    read(byte);
    return byte;
  }
  std::uint64_t read_whole() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::uint64_t next = read_byte();
      value |= (next & 0x7FU) << shift;
      if (next < 0x80) return value;
    }
    throw InternalError("a number of a record does not end");
  }

  std::string_view rest_;
};

template <typename T>
std::string to_record(const T& value) {
  std::string record;
  RecordWriter writer(record);
  writer(value);
  return record;
}

template <typename T>
T from_record(std::string_view record) {
  T value{};
  RecordReader reader(record);
  reader(value);
  require(reader.at_end(), "a record has bytes after its end");
  return value;
}

}  // namespace skyline
