#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace skyline::model_export {

/// A FlatBuffers table while it is built. Fields have the numbers of the schema; a field that is not added
/// has its default there.
/// @see https://flatbuffers.dev/internals
class FlatTable {
 public:
  void add_byte(std::uint16_t field, std::uint8_t value) { fields_[field] = value; }
  void add_integer(std::uint16_t field, std::int64_t value) {
    fields_[field] = static_cast<std::uint32_t>(value);
  }
  void add_float(std::uint16_t field, float value);
  void add_text(std::uint16_t field, std::string_view text);
  /// Adds a vector of numbers.
  /// @param alignment  of the first number from the begin of the file, at least the numbers' size
  template <typename Number>
  void add_numbers(std::uint16_t field, std::span<const Number> numbers,
                   std::size_t alignment = sizeof(Number)) {
    fields_[field] = Numbers{
        {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()}, numbers.size(), alignment};
  }
  void add_table(std::uint16_t field, FlatTable table) { fields_[field] = Tables{{std::move(table)}, false}; }
  void add_tables(std::uint16_t field, std::vector<FlatTable> tables) {
    fields_[field] = Tables{std::move(tables), true};
  }

  /// Returns the file whose root is this table.
  /// @param identifier  four letters
  /// @throws UserError if it had 2 GB or more
  std::string file_bytes(std::string_view identifier) const;

 private:
  friend class FlatWriter;
  struct Numbers {
    std::string bytes;
    std::size_t count = 0;
    std::size_t alignment = 1;
  };
  struct Tables {
    std::vector<FlatTable> tables;
    bool is_vector = false;
  };
  std::map<std::uint16_t, std::variant<std::uint8_t, std::uint32_t, Numbers, Tables>> fields_;
};

}  // namespace skyline::model_export
