#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// The type of an array's elements, as its file has them.
struct ElementType {
  enum class Kind : std::uint8_t { kUnsigned, kSigned, kFloat };
  Kind kind = Kind::kUnsigned;
  std::size_t bytes = 1;  // 1, 2, 4 or 8
  bool big_endian = false;

  bool is_uint8() const { return kind == Kind::kUnsigned && bytes == 1; }
};
/// "uint8", "float32"
std::string to_text(const ElementType& type);

/// Elements as float, whatever they are. @param bytes  those of `values.size()` elements
void to_floats(const ElementType& type, std::span<const std::byte> bytes, std::span<float> values);
/// @pre no floats. @throws UserError if a number is 2^63 or more
void to_integers(const ElementType& type, std::span<const std::byte> bytes, std::span<std::int64_t> values);

/// Reads an array from its start to its end.
class ArrayStream {
 public:
  virtual ~ArrayStream() = default;
  /// Fills `bytes` with the next whole rows (what one step along the first dimension has).
  /// @throws UserError: truncated, damaged; FaultError
  virtual void read(std::span<std::byte> bytes) = 0;
};

/// An array in a file of the user's.
struct SourceArray {
  std::string name;  // "x_train"
  std::filesystem::path file;
  ElementType type;
  std::vector<std::int64_t> dims;  // at least one, all above 0
  std::function<std::unique_ptr<ArrayStream>()> open;
  std::vector<std::string> words = {};  // if not empty: the elements are places among them
  std::string problem = {};             // why it cannot be read, if it cannot
  bool from_text = false;               // the type is that of the numbers that happen to be in it

  std::size_t rows() const { return static_cast<std::size_t>(dims.front()); }
  std::size_t row_elements() const;
  std::size_t row_bytes() const { return row_elements() * type.bytes; }
  /// "mnist.npz: x_train"
  std::string label() const;
  [[noreturn]] void fail(std::string_view message) const;
};

/// How a CSV file is read.
struct CsvOptions {
  std::string label;  // the column with the labels: its name or number, from 1; empty: the last one
  std::size_t num_features = 0;  // without such a label, a file of so many columns has features alone
};

/// The arrays of a file: npz, npy, IDX, HDF5 or CSV, by its content; npy, IDX and CSV also as gzip. One that
/// has no names in it is named after the file. @throws UserError: of no such format, damaged, too large
std::vector<SourceArray> list_arrays(const std::filesystem::path& file, const CsvOptions& csv);

}  // namespace skyline::store
