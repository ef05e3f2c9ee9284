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

/// The type of an array's elements in its file.
struct ElementType {
  enum class Kind : std::uint8_t { kUnsigned, kSigned, kFloat };
  Kind kind = Kind::kUnsigned;
  std::size_t bytes = 1;  // 1, 2, 4 or 8
  bool big_endian = false;

  bool is_uint8() const { return kind == Kind::kUnsigned && bytes == 1; }
};
/// Returns e.g. "uint8", "float32".
std::string to_text(const ElementType& type);

/// Converts elements of any type to float.
/// @param bytes  bytes of `values.size()` elements
void to_floats(const ElementType& type, std::span<const std::byte> bytes, std::span<float> values);
/// Converts elements to integers. @pre they are not floats. @throws UserError if a number is 2^63 or more
void to_integers(const ElementType& type, std::span<const std::byte> bytes, std::span<std::int64_t> values);

/// Reads an array from its start to its end.
class ArrayStream {
 public:
  virtual ~ArrayStream() = default;
  /// Fills `bytes` with the next whole rows; a row is one step along the first dimension.
  /// @throws UserError if the file is truncated or damaged, FaultError
  virtual void read(std::span<std::byte> bytes) = 0;
};

/// An array in a user's file.
struct SourceArray {
  std::string name;  // e.g. "x_train"
  std::filesystem::path file;
  ElementType type;
  std::vector<std::int64_t> dims;  // at least one, all above 0
  std::function<std::unique_ptr<ArrayStream>()> open;
  std::vector<std::string> words = {};  // if not empty, the elements are indices into these words
  std::string problem = {};             // the reason why it cannot be read, or empty
  bool from_text = false;               // the type was chosen for the numbers in the text

  std::size_t rows() const { return static_cast<std::size_t>(dims.front()); }
  std::size_t row_elements() const;
  std::size_t row_bytes() const { return row_elements() * type.bytes; }
  /// Returns e.g. "mnist.npz: x_train".
  std::string label() const;
  [[noreturn]] void fail(std::string_view message) const;
};

/// The way to read a CSV file.
struct CsvOptions {
  std::string label;  // name or number (from 1) of the column with the labels; empty for the last column
  std::size_t num_features = 0;  // a file with so many columns, and without such a label, has only features
};

/// Lists the arrays of a file by its content: npz, npy, IDX, HDF5 or CSV; npy, IDX and CSV also as gzip. An
/// array without a name in the file is named after the file.
/// @throws UserError if the file has another format, is damaged or too large
std::vector<SourceArray> list_arrays(const std::filesystem::path& file, const CsvOptions& csv);

}  // namespace skyline::store
