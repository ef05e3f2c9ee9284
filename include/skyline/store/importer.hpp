#pragma once

#include "skyline/core/option_table.hpp"
#include "skyline/store/dataset.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::store {

/// The parts of a data set, in the order in which they are written.
enum class Part : std::uint8_t { kTrain, kValidation, kTest };
/// "train", "validation", "test"
const char* to_text(Part part);
inline constexpr std::array kAllParts{Part::kTrain, Part::kValidation, Part::kTest};

/// What is the same for all samples of a data set.
struct DatasetFacts {
  space::Shape shape;
  std::vector<std::string> class_names;  // of the outputs: of classes, labels or numbers
  std::string source;                    // origin and terms, for people
  double value_scale = 255;  // largest pixel value: 255, or 16 for the UCI digits; 1 where values are floats
};

/// Writes a data set file as its samples come: they go to disk at once, and only their targets are kept in
/// memory. The file appears whole, or not at all. Not for several threads at once.
class DatasetWriter {
 public:
  /// @throws UserError, FaultError if the file cannot be written
  explicit DatasetWriter(const std::filesystem::path& path);
  ~DatasetWriter();
  DatasetWriter(const DatasetWriter&) = delete;
  DatasetWriter& operator=(const DatasetWriter&) = delete;

  /// Once, before the first samples.
  void describe(const DatasetFacts& facts);
  /// @throws UserError unless the disk has room for so many bytes of values
  void check_room(std::uint64_t bytes) const;
  /// Adds samples; all of a part before the next part's. Values and targets have the same types in all parts.
  /// @throws UserError: values that are not finite, classes that there are not; FaultError: no space
  void append(Part part, const SampleView& samples);
  /// Computes means and checksums, and gives the file its name. @throws as append
  void finish();

  const DatasetFacts& facts() const;
  std::size_t count(Part part) const;
  /// @pre something was appended
  TargetKind target_kind() const;
  /// By class, for class targets; else empty.
  std::vector<std::size_t> class_counts(Part part) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Describes a data set that is in memory and writes all its samples.
void write_contents(const DatasetContents& contents, DatasetWriter& writer);

/// What `skyline prep KIND SOURCE... -o FILE` reads.
struct ImportSource {
  std::vector<std::filesystem::path> paths;
  ConfigNode options;       // of the importer's own keys
  std::size_t threads = 1;  // that it may use
  /// False: samples alone are wanted, whether there are targets or not, as if they were of one class. Those
  /// of no part go to the first one. For importers that say so.
  bool has_targets = true;
  /// Shape of the samples of the run for whose models these are, if they are for any. Arrays without a layout
  /// are read such that they have it, grey images become RGB, and a test set may be alone.
  std::optional<space::Shape> shape = {};

  /// The start of an option as the user types it, for messages: "--size=", or for models "--with size=".
  std::string option(std::string_view key) const {
    return (shape ? "--with " : "--") + std::string(key) + "=";
  }
};

/// One kind of source. A program with a kind of its own derives from this and registers it before
/// run_program.
class Importer {
 public:
  virtual ~Importer() = default;
  /// One sentence, for `skyline prep --help`.
  virtual std::string meaning() const = 0;
  /// What the command names: "FOLDER", "FILE..."; "[FILE]": it may name nothing.
  virtual std::string sources() const = 0;
  /// The options of its own; `--size 32` is the key `size`.
  virtual std::shared_ptr<const KeyTable> keys() const { return nullptr; }
  /// Whether it can do without targets (ImportSource::has_targets).
  virtual bool reads_samples_alone() const { return false; }
  /// Reads the source into the writer, up to the last sample. @throws UserError, one line that names the file
  virtual void import(const ImportSource& source, DatasetWriter& writer) const = 0;
};

/// Adds a kind; a second one of the same name is an InternalError.
void register_importer(std::string_view name, std::shared_ptr<const Importer> importer);
/// nullptr if unknown.
std::shared_ptr<const Importer> find_importer(std::string_view name);
std::vector<std::string> importer_names();

}  // namespace skyline::store
