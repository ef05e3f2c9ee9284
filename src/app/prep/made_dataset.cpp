#include "app/prep/made_dataset.hpp"

#include "skyline/core/error.hpp"

#include "app/prep/prep_process.hpp"
#include "core/system/temporary_folder.hpp"
#include "store/data/seal_dataset.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/temporary_file.hpp"

#include <iostream>
#include <utility>

#include <nlohmann/json.hpp>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMadeName = "made.h5";

/// Returns the call for a source. Its file is made in a folder, whatever name it has in messages.
PrepCall call_of(const PrepSource& source, const char* action, const fs::path& folder,
                 const fs::path& shown) {
  PrepCall call{.title = source.title, .arguments = {}};
  if (source.by_with) call.arguments.emplace_back("--by-with");
  for (const std::string& word : {std::string(action), source.kind, "--out=" + shown.string(),
                                  "--write-to=" + (folder / kMadeName).string()}) {
    call.arguments.push_back(word);
  }
  return call;
}

void add_words(PrepCall& call, const PrepSource& source) {
  call.arguments.insert(call.arguments.end(), source.words.begin(), source.words.end());
}

/// Seals the file that a call made. Messages name the target, which people know.
void seal(const PrepSource& source, const fs::path& folder, const fs::path& target,
          const HeldSignals& signals) {
  const fs::path made = folder / kMadeName;
  try {
    store::seal_dataset(made, target, [&] { return signals.pending(); });
  } catch (const UserError& error) {
    std::string message = error.what();
    if (message.starts_with(made.string())) message.replace(0, made.string().size(), target.string());
    throw UserError(source.title + ": made no valid data set: " + message);
  }
}

/// Reads what a call says of the rows of its source (Rows in python/skyline/prep/kinds.py).
SourceRows read_rows(const fs::path& file) {
  const nlohmann::json root = nlohmann::json::parse(store::read_file(file));
  const auto& names = root.at("names");
  const auto at = [&](const char* key, std::size_t i) {
    const auto& values = root.at(key);
    return i < values.size() ? values[i] : nlohmann::json();
  };
  SourceRows rows{.title = root.at("title"), .may_fail = root.at("may_fail"), .rows = {}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const nlohmann::json part = at("parts", i);
    const nlohmann::json problem = at("problems", i);
    rows.rows.push_back({store::kAllParts.at(part.is_null() ? 0 : part.get<std::size_t>()), names[i],
                         problem.is_null() ? "" : problem.get<std::string>()});
  }
  return rows;
}

}  // namespace

void PrepSource::add(const std::vector<std::pair<std::string, std::string>>& options,
                     const std::vector<fs::path>& paths) {
  for (const auto& [key, value] : options) words.push_back("--" + key + "=" + value);
  words.emplace_back("--");
  for (const fs::path& path : paths) words.push_back(path.string());
}

std::vector<std::string> make_dataset(const PrepSource& source, const fs::path& target) {
  const HeldSignals signals;
  const TemporaryFolder folder(store::make_temporary_folder(target));
  PrepCall call = call_of(source, "prepare", folder.path(), target);
  add_words(call, source);
  std::vector<std::string> lines = run_prep(call, folder.path(), signals);
  seal(source, folder.path(), target, signals);
  return lines;
}

std::shared_ptr<const store::Dataset> make_samples(const PrepSource& source, const std::string& run,
                                                   bool has_targets, SourceRows* rows) {
  const HeldSignals signals;
  const TemporaryFolder folder(temporary_root(), "skyline-");
  const fs::path target = folder.path() / "samples.h5";
  const fs::path run_file = folder.path() / "run.json";
  const fs::path rows_file = folder.path() / "rows";
  store::write_scratch_file(run_file, run);
  PrepCall call = call_of(source, "apply", folder.path(), target);
  call.arguments.push_back("--run=" + run_file.string());
  call.arguments.push_back("--rows=" + rows_file.string());
  if (!has_targets) call.arguments.emplace_back("--no-targets");
  add_words(call, source);
  for (const std::string& line : run_prep(call, folder.path(), signals)) {
    if (line.starts_with("check: ")) std::cerr << line << '\n';
  }
  seal(source, folder.path(), target, signals);
  if (rows != nullptr) *rows = read_rows(rows_file);
  return store::Dataset::open(target, false);
}

std::vector<std::string> prep_help(const std::string& kind, bool asked) {
  const HeldSignals signals;
  const TemporaryFolder folder(temporary_root(), "skyline-");
  PrepCall call{.title = "prep " + kind, .arguments = {"prepare", kind, "--help"}};
  if (kind.empty()) call = {.title = "prep", .arguments = {asked ? "kinds" : "prepare"}};
  return run_prep(call, folder.path(), signals);
}

}  // namespace skyline::app
