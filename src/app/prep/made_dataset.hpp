#pragma once

#include "skyline/store/dataset.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace skyline::app {

/// The rows of a source, by which predictions are joined to it.
struct SourceRows {
  struct Row {
    store::Part part = store::Part::kTrain;
    std::string name;     // e.g. "photos/7.png", or "7", the number of the row in an array
    std::string problem;  // reason why there is no sample of this row; empty if there is one
  };
  std::string title = "row";  // meaning of the names: "file", "row", or the title of a column
  bool may_fail = false;      // true if rows without a sample are left out rather than refused
  std::vector<Row> rows;      // within a part in the order of its samples
};

/// What people bring, for `python3 -m skyline.prep`.
struct PrepSource {
  std::string title;               // beginning of messages about its process: "prep images"
  std::string kind;                // "auto": by the source
  std::vector<std::string> words;  // options, `--` if there are paths behind it, sources
  bool by_with = false;            // whether messages name options as `--with KEY=VALUE`

  /// Adds options as key and value, and paths.
  void add(const std::vector<std::pair<std::string, std::string>>& options,
           const std::vector<std::filesystem::path>& paths);
};

/// Makes a data set file of what people bring, and returns the lines for them. A process of Python reads it
/// (prep_process.hpp); all values are checked here. The file appears whole, or not at all, and nothing else
/// stays, also after a signal.
/// @throws UserError, one line; FaultError if the file cannot be written
std::vector<std::string> make_dataset(const PrepSource& source, const std::filesystem::path& target);

/// Reads new samples for the models of a run. Their file is temporary, and removed before this returns.
/// Prints on standard error what looks wrong with them.
/// @param run  what they shall be like, as JSON (RunData in python/skyline/prep/kinds.py)
/// @param has_targets  false: do not read targets, even if the source has some
/// @param rows  if not null, gets the rows of the source
/// @throws as make_dataset
std::shared_ptr<const store::Dataset> make_samples(const PrepSource& source, const std::string& run,
                                                   bool has_targets, SourceRows* rows);

/// Returns the help of a kind; without one, what kinds there are. @throws UserError, also if help was not
/// asked for, and a kind is missing
std::vector<std::string> prep_help(const std::string& kind, bool asked);

}  // namespace skyline::app
