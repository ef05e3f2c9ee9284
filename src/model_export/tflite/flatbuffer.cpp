#include "model_export/tflite/flatbuffer.hpp"

#include "skyline/core/error.hpp"

#include "core/text/protobuf_writer.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

namespace skyline::model_export {

/// Writes tables in the order of their first mention: an offset points forward, from its own place.
class FlatWriter {
 public:
  std::string write(const FlatTable& root, std::string_view identifier) {
    append(0);
    bytes_ += identifier;
    set(0, table(root));
    write_numbers();
    if (bytes_.size() >> 31U != 0) throw UserError("a .tflite file has at most 2 GB");
    return std::move(bytes_);
  }

 private:
  /// The place of each field in its table, which begins with the offset of the table of these places.
  struct Layout {
    std::map<std::uint16_t, std::size_t> places;
    std::size_t size = sizeof(std::uint32_t);
  };

  static Layout layout_of(const FlatTable& table) {
    Layout layout;
    for (const bool has_bytes : {false, true}) {  // larger fields first, for their alignment
      for (const auto& [field, value] : table.fields_) {
        if (std::holds_alternative<std::uint8_t>(value) != has_bytes) continue;
        layout.places[field] = layout.size;
        layout.size += has_bytes ? sizeof(std::uint8_t) : sizeof(std::uint32_t);
      }
    }
    return layout;
  }

  /// Returns the position of a table of places; equal ones are written once.
  std::size_t places_at(const Layout& layout) {
    std::string table;
    const auto append_short = [&](std::size_t value) {
      table.push_back(static_cast<char>(value & 0xFFU));
      table.push_back(static_cast<char>(value >> 8U));
    };
    const std::size_t fields = layout.places.empty() ? 0 : layout.places.rbegin()->first + 1U;
    append_short(2 * (fields + 2));
    append_short(layout.size);
    for (std::size_t field = 0; field < fields; ++field) {
      const auto found = layout.places.find(static_cast<std::uint16_t>(field));
      append_short(found == layout.places.end() ? 0 : found->second);
    }
    const auto [known, is_new] = known_places_.try_emplace(table, 0);
    if (is_new) {
      align(2);
      known->second = bytes_.size();
      bytes_ += table;
    }
    return known->second;
  }

  /// Writes a table and all that it refers to. Returns its position.
  std::size_t table(const FlatTable& table) {
    const Layout layout = layout_of(table);
    const std::size_t places = places_at(layout);
    align(sizeof(std::uint32_t));
    const std::size_t begin = bytes_.size();
    bytes_.resize(begin + layout.size);
    set(begin, begin - places, 0);
    for (const auto& [field, value] : table.fields_) {
      const std::size_t at = begin + layout.places.at(field);
      if (const auto* byte = std::get_if<std::uint8_t>(&value)) bytes_[at] = static_cast<char>(*byte);
      if (const auto* integer = std::get_if<std::uint32_t>(&value)) set(at, *integer, 0);
      if (const auto* values = std::get_if<FlatTable::Numbers>(&value)) {
        const std::size_t alignment = std::max(values->alignment, sizeof(std::uint32_t));
        places_of_numbers_[{alignment, values->count, values->bytes}].push_back(at);
      }
      if (const auto* tables = std::get_if<FlatTable::Tables>(&value)) {
        set(at, tables->is_vector ? vector(tables->tables) : this->table(tables->tables.front()));
      }
    }
    return begin;
  }

  /// Writes the vectors of numbers behind all places that refer to them, equal ones once, such as the zeros
  /// of scales.
  void write_numbers() {
    for (const auto& [key, places] : places_of_numbers_) {
      const auto& [alignment, count, numbers] = key;
      while ((bytes_.size() + sizeof(std::uint32_t)) % alignment != 0) bytes_.push_back('\0');
      const std::size_t begin = bytes_.size();
      append(count);
      bytes_ += numbers;
      for (const std::size_t at : places) set(at, begin);
    }
  }

  std::size_t vector(const std::vector<FlatTable>& tables) {
    align(sizeof(std::uint32_t));
    const std::size_t begin = bytes_.size();
    append(tables.size());
    const std::size_t first = bytes_.size();
    bytes_.resize(first + tables.size() * sizeof(std::uint32_t));
    for (std::size_t i = 0; i < tables.size(); ++i) {
      set(first + i * sizeof(std::uint32_t), table(tables[i]));
    }
    return begin;
  }

  void align(std::size_t alignment) {
    while (bytes_.size() % alignment != 0) bytes_.push_back('\0');
  }
  void append(std::size_t value) { append_little_endian(bytes_, static_cast<std::uint32_t>(value)); }
  /// Writes the offset of a position from the place of the offset.
  void set(std::size_t at, std::size_t position) { set(at, position, at); }
  void set(std::size_t at, std::size_t value, std::size_t origin) {
    std::string number;
    append_little_endian(number, static_cast<std::uint32_t>(value - origin));
    bytes_.replace(at, number.size(), number);
  }

  std::string bytes_;
  std::map<std::string, std::size_t> known_places_;
  /// Where a vector is referred to, by its alignment, the count of its numbers and their bytes, which are the
  /// tables'.
  std::map<std::tuple<std::size_t, std::size_t, std::string_view>, std::vector<std::size_t>>
      places_of_numbers_;
};

void FlatTable::add_float(std::uint16_t field, float value) {
  fields_[field] = std::bit_cast<std::uint32_t>(value);
}

void FlatTable::add_text(std::uint16_t field, std::string_view text) {
  fields_[field] = Numbers{std::string(text) + '\0', text.size(), 1};
}

std::string FlatTable::file_bytes(std::string_view identifier) const {
  return FlatWriter().write(*this, identifier);
}

}  // namespace skyline::model_export
