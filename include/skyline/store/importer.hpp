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

/// Facts that hold for all samples of a data set.
struct DatasetFacts {
  space::Shape shape;
  std::vector<std::string> class_names;  // names of the outputs: of classes, labels or numbers
  std::string source;                    // origin and terms of use, for people
  double value_scale = 255;  // largest pixel value: 255, or 16 for the UCI digits; 1 where values are floats
  std::string preparation = {};  // how rows of a table became samples (docs/internals/files.md); else empty
  bool in_time_order = false;    // the last training samples are held out where a validation set is needed
};

/// Writes a data set file while its samples are read: they go to disk at once, and only their targets are
/// kept in memory. The file appears whole, or not at all. Not thread-safe.
class DatasetWriter {
 public:
  /// Opens a temporary file. @throws UserError, FaultError if it cannot be written
  explicit DatasetWriter(const std::filesystem::path& path);
  ~DatasetWriter();
  DatasetWriter(const DatasetWriter&) = delete;
  DatasetWriter& operator=(const DatasetWriter&) = delete;

  /// Sets the facts. Call once, before the first samples.
  void describe(const DatasetFacts& facts);
  /// Checks that the disk has room for so many bytes of values. @throws UserError
  void check_room(std::uint64_t bytes) const;
  /// Adds samples. All samples of a part must be added before those of the next part. Values and targets have
  /// the same types in all parts.
  /// @throws UserError for values that are not finite and unknown classes, FaultError if there is no space
  void append(Part part, const SampleView& samples);
  /// Computes means and checksums, and gives the file its name. @throws UserError, FaultError as append()
  void finish();

  /// Adds a line for the person who started this: what was guessed, with the option that changes it. A line
  /// about something that looks wrong begins with "check: ".
  void note(const std::string& line);
  /// Returns these lines.
  const std::vector<std::string>& notes() const;
  /// Returns the facts that describe() has set.
  const DatasetFacts& facts() const;
  /// Returns the number of samples that a part has so far.
  std::size_t count(Part part) const;
  /// Returns the kind of the targets. @pre something was appended
  TargetKind target_kind() const;
  /// Returns the number of samples of each class; empty if the targets are not classes.
  std::vector<std::size_t> class_counts(Part part) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes a data set that is in memory.
void write_contents(const DatasetContents& contents, DatasetWriter& writer);

/// The rows of a source, by which predictions are joined to it.
struct SourceRows {
  struct Row {
    Part part = Part::kTrain;
    std::string name;     // e.g. "photos/7.png", or "7", the number of the row in an array
    std::string problem;  // reason why there is no sample of this row; empty if there is one
  };
  std::string title = "row";  // meaning of the names: "file", "row", or the title of a column
  bool may_fail = false;      // true if rows without a sample are left out rather than refused
  std::vector<Row> rows;      // those of a part are in the order of its samples
};

/// The input of an importer: what `skyline prep KIND SOURCE... -o FILE` names.
struct ImportSource {
  std::vector<std::filesystem::path> paths;
  ConfigNode options;       // options, with the importer's own keys
  std::size_t threads = 1;  // number of threads that it may use
  /// False: only the samples are wanted, as if they had one class, whether there are targets or not. Samples
  /// without a part go to the first one. Only importers with reads_samples_alone() get this.
  bool has_targets = true;
  /// Shape of the samples of the run whose models will get these samples, if there is one. Arrays without a
  /// layout are then read so that they have this shape, grey images become RGB, and a test set may be alone.
  std::optional<space::Shape> shape = {};
  /// If not null, the importer adds the row of each sample, and those of which it makes none. If it adds
  /// nothing, samples are known by their number in their part.
  SourceRows* rows = nullptr;
  /// The preparation of this run's data set, if that is from a table. New rows are prepared alike.
  std::string preparation = {};
};

/// A kind of source. A program adds its own kind by deriving from this and registering it before run_program.
/// It must be stateless.
class Importer {
 public:
  virtual ~Importer() = default;
  /// Returns one sentence for `skyline prep --help`.
  virtual std::string meaning() const = 0;
  /// Returns the words for the sources: "FOLDER", "FILE...", or "[FILE]" if none is needed.
  virtual std::string sources() const = 0;
  /// Returns the table of its own options (`--size 32` sets the key `size`), or nullptr for none.
  virtual std::shared_ptr<const KeyTable> keys() const { return nullptr; }
  /// Returns whether it can read samples without targets (ImportSource::has_targets).
  virtual bool reads_samples_alone() const { return false; }
  /// Reads the source and appends all its samples to the writer; the caller finishes the writer. Errors and
  /// notes name options as `skyline prep` has them, "--size" or "--size=32"; other commands spell them anew.
  /// @throws UserError, one line that names the file
  virtual void import(const ImportSource& source, DatasetWriter& writer) const = 0;
};

/// Adds a kind. @throws InternalError if the name is taken
void register_importer(std::string_view name, std::shared_ptr<const Importer> importer);
/// Returns the importer of this name, or nullptr.
std::shared_ptr<const Importer> find_importer(std::string_view name);
/// Returns the names of all registered kinds in alphabetical order.
std::vector<std::string> importer_names();

}  // namespace skyline::store
