#pragma once

#include "skyline/store/dataset.hpp"

#include "store/arrays/preparation.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
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

/// Convert elements of any type.
/// @param bytes  bytes of `values.size()` elements
void to_floats(const ElementType& type, std::span<const std::byte> bytes, std::span<float> values);
void to_doubles(const ElementType& type, std::span<const std::byte> bytes, std::span<double> values);
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

/// Facts about the table that arrays are from.
struct TableFacts {
  Preparation preparation;
  std::vector<std::string> ids;  // of each row, if a column has them
  std::vector<std::string>
      notes;  // what was guessed and what looks odd, each with the option that changes it
};

/// An array in a user's file.
struct SourceArray {
  std::string name;  // e.g. "x_train"
  std::filesystem::path file;
  ElementType type;
  std::vector<std::int64_t> dims;  // at least one, all above 0
  std::function<std::unique_ptr<ArrayStream>()> open;
  std::vector<std::string> names = {};           // names of the elements of a row, if there are some
  std::vector<std::string> words = {};           // if not empty, the elements are indices into these words
  std::string problem = {};                      // the reason why it cannot be read, or empty
  std::string doubt = {};                        // of words: how many are numbers, if most are; else empty
  std::optional<bool> were_whole = {};           // whether scaled elements were whole numbers before that
  bool from_text = false;                        // the type was chosen for the numbers in the text
  std::shared_ptr<const TableFacts> table = {};  // of samples from a table

  std::size_t rows() const { return static_cast<std::size_t>(dims.front()); }
  std::size_t row_elements() const;
  std::size_t row_bytes() const { return row_elements() * type.bytes; }
  /// Returns the id of a row if a column of its table has ids, else its number.
  std::string row_name(std::size_t row) const;
  /// Returns e.g. "mnist.npz: x_train".
  std::string label() const;
  [[noreturn]] void fail(std::string_view message) const;
};

/// The way to read tables. Lists of columns are names, or numbers from 1, with commas between them.
struct TableOptions {
  std::string label;                 // columns with the targets; if empty, they are guessed
  std::string drop;                  // columns to leave out
  std::string id;                    // column with names of the samples
  std::string group;                 // column whose words mark samples that stay together
  std::string categories;            // columns whose numbers are names of categories
  std::size_t most_categories = 32;  // words of a column that get features of their own
  std::string missing = "median";    // what stands for missing numbers: median, a number, or refuse
  std::optional<TargetKind> targets;
  std::optional<Preparation> known;  // columns are matched with it, instead of a new one
  std::vector<bool> trained = {};    // rows from which a new one is learned; all if empty
  std::size_t num_features = 0;  // a table with so many columns, and without such a label, has only features
  bool needs_targets = true;     // else columns with targets are passed over
  bool for_model = false;        // the table is for a run's models
};

/// Returns the part that a table's file name states, as in names of arrays: "train", "val" or "test", e.g.
/// for "digits_test.csv", "testing.csv", "MnistTest.csv", "val.csv". @return "train" if it states none
std::string part_in_name(const std::filesystem::path& file);

/// Lists the arrays of a file by its content: npz, npy, IDX, HDF5 or CSV; npy, IDX and CSV also as gzip. An
/// array without a name in the file is named after the file.
/// @throws UserError if the file has another format, is damaged or too large
std::vector<SourceArray> list_arrays(const std::filesystem::path& file, const TableOptions& tables);

}  // namespace skyline::store
