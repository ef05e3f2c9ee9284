#include "app/config/known_results.hpp"

#include "skyline/core/error.hpp"

#include "core/text/hash.hpp"
#include "core/text/wording.hpp"
#include "evaluate/table/benchmark_rows.hpp"
#include "store/data/named_file.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;

/// Returns the copy of a source in a run's folder.
fs::path copy_in(const fs::path& run, const std::string& checksum) {
  return store::known_folder({run}) / (checksum + ".csv");
}

/// Finds a source: its copy in the run, if the configuration is that of a run.
fs::path locate(const ConfigNode& node, search::KnownSource& source) {
  const fs::path folder = fs::path(node.position().file).parent_path();
  if (!source.checksum.empty() && store::exists(copy_in(folder, source.checksum)))
    return copy_in(folder, source.checksum);
  const fs::path found = store::named_file_that_exists(node, source.from);
  source.from = fs::absolute(found).lexically_normal().string();
  return fs::is_directory(found) ? store::RunPaths{found}.search_state_csv() : found;
}

/// Notes the content of a source. Another content than that with which a run began is refused.
void note_content(const ConfigNode& node, search::KnownSource& source, const fs::path& file) {
  if (!store::exists(file))
    node.fail("there is no " + file.string() + ": not the folder of a run with results");
  const std::string found = checksum(store::read_file(file));
  if (!source.checksum.empty() && source.checksum != found) {
    node.fail(file.string() + " has other results than when the run began: its checksum is " + found +
              ", not " + source.checksum);
  }
  source.checksum = found;
}

/// Returns the metrics that objectives and constraints need, and the epochs.
std::vector<evaluate::NumberColumn> columns_of(const objective::ObjectiveSet& objectives) {
  std::vector<evaluate::NumberColumn> columns;
  for (std::string& name : objectives.measured_needed()) columns.push_back({.name = std::move(name)});
  columns.push_back({.name = "epochs", .may_lack = true});
  return columns;
}

/// A row of a table that lacks none of the values that the search needs.
struct KnownRow {
  std::shared_ptr<const space::Architecture> architecture;
  std::vector<double> values;  // indexed by metric; NaN for metrics that are not needed
  double epochs = 0;           // 0 if the table states no epochs
};

std::optional<KnownRow> whole_row(const evaluate::BenchmarkRows& rows, std::size_t row,
                                  const space::SearchSpace& space,
                                  const std::vector<trial::Metric>& metrics) {
  const space::BuildAttempt attempt = space.try_build(rows.genotype(row));
  if (!attempt.architecture || rows.lacking(row, attempt.architecture->used)) return std::nullopt;
  KnownRow known{std::make_shared<const space::Architecture>(attempt.architecture->unbuilt()),
                 std::vector<double>(metrics.size(), std::nan(""))};
  for (std::size_t column = 0; column < rows.columns.size(); ++column) {
    const auto metric = std::ranges::find(metrics, rows.columns[column], &trial::Metric::name);
    const double value = rows.value(row, column);
    if (metric == metrics.end()) {
      if (!std::isnan(value)) known.epochs = value;
      continue;
    }
    if (std::isnan(value)) return std::nullopt;
    known.values[static_cast<std::size_t>(metric - metrics.begin())] = value;
  }
  return known;
}

/// What a table added to the known results.
struct Added {
  std::size_t architectures = 0;
  std::size_t left_out = 0;  // rows
};

/// The mean of the rows of an architecture with one number of epochs.
struct RowMean {
  std::vector<double> values;
  double rows = 0;
};
using ByEpochs = std::map<double, RowMean>;

constexpr std::size_t kMostEpochs =
    20;  // numbers of epochs of an architecture, as many as a search has rungs

/// The rows of an architecture.
struct KnownArchitecture {
  std::shared_ptr<const space::Architecture> architecture;
  double least = 0;  // number of epochs
  ByEpochs means;    // the longest kMostEpochs
};

/// Returns whether most architectures with more epochs than others have fewer epochs, too, as where trials
/// are continued. Trainings that ended early each have a number of epochs of their own.
bool are_continued(const std::vector<KnownArchitecture>& all) {
  if (all.empty()) return false;
  const double least = std::ranges::min(all, {}, &KnownArchitecture::least).least;
  std::size_t longer = 0;
  std::size_t continued = 0;
  for (const KnownArchitecture& one : all) {
    if (one.means.rbegin()->first == least) continue;
    ++longer;
    if (one.least == least) ++continued;
  }
  return 2 * continued > longer;
}

/// Adds the results of a table: for each architecture that of each number of epochs where trials are
/// continued, else that of the most epochs.
Added add_results(const evaluate::BenchmarkRows& rows, const space::SearchSpace& space,
                  const std::vector<trial::Metric>& metrics, std::uint32_t source,
                  std::vector<trial::CommittedTrial>& results) {
  std::unordered_map<space::ArchId, std::size_t> places;
  std::vector<KnownArchitecture> all;
  Added added{.left_out = rows.outside + rows.failed};
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::optional<KnownRow> known = whole_row(rows, row, space, metrics);
    if (!known) {
      ++added.left_out;
      continue;
    }
    const auto [found, is_new] = places.try_emplace(known->architecture->id, all.size());
    if (is_new) all.push_back({std::move(known->architecture), known->epochs, {}});
    all[found->second].least = std::min(all[found->second].least, known->epochs);
    ByEpochs& means = all[found->second].means;
    if (means.size() == kMostEpochs && known->epochs < means.begin()->first) continue;
    RowMean& mean = means[known->epochs];
    if (++mean.rows == 1) {
      mean.values = std::move(known->values);
      if (means.size() > kMostEpochs) means.erase(means.begin());
      continue;
    }
    for (std::size_t i = 0; i < mean.values.size(); ++i)
      mean.values[i] += (known->values[i] - mean.values[i]) / mean.rows;
  }
  added.architectures = all.size();
  const bool is_by_epochs = are_continued(all);
  for (auto& [architecture, least, means] : all) {
    if (!is_by_epochs) means.erase(means.begin(), std::prev(means.end()));
    for (auto& [epochs, mean] : means) {
      trial::CommittedTrial& result = results.emplace_back();
      result.trial.number = results.size() - 1;
      result.trial.proposal.iteration = source;
      result.trial.proposal.budget.epochs = is_by_epochs ? epochs : 0;
      result.trial.proposal.architecture = architecture;
      result.outcome = trial::Measurements{std::move(mean.values)};
    }
  }
  return added;
}

}  // namespace

KnownResults read_known(const ConfigNode& written, const space::SearchSpace& space,
                        const objective::ObjectiveSet& objectives,
                        const std::vector<trial::Metric>& metrics) {
  KnownResults known;
  const std::vector<std::string> computed = trial::names_of(objectives.computed());
  (void)search::known_kind().read(written, known.sources);
  for (std::size_t i = 0; i < known.sources.size(); ++i) {
    const ConfigNode& node = written.items()[i];
    search::KnownSource& source = known.sources[i];
    known.files.push_back(locate(node, source));
    note_content(node, source, known.files.back());
    evaluate::BenchmarkRows rows;
    try {
      rows = evaluate::read_rows(known.files.back().string(), space, columns_of(objectives),
                                 evaluate::RowSource::kTrials, computed);
    } catch (const UserError& error) {
      node.fail(error.what());
    }
    const Added added = add_results(rows, space, metrics, static_cast<std::uint32_t>(i), known.results);
    known.summaries.push_back(
        "search.known: " + counted(added.architectures, "architecture") + " of " + source.from +
        (added.left_out == 0 ? std::string()
                             : "; " + counted(added.left_out, "row") +
                                   " left out, which failed, lack a usable value or are of another space"));
  }
  return known;
}

ConfigNode with_sources_of(ConfigNode root, const ConfigNode& of_run) {
  const auto section_of = [](const ConfigNode& tree) {
    const ConfigNode* const section = tree.is_map() ? tree.find("search") : nullptr;
    return section != nullptr && section->is_map() ? section : nullptr;
  };
  const ConfigNode* const asked = section_of(root);
  const ConfigNode* const begun = section_of(of_run);
  if (asked == nullptr || begun == nullptr) return root;
  const std::vector<search::KnownSource> sources = search::known_sources(*asked);
  const auto is_same = [&](const search::KnownSource& source, const search::KnownSource& earlier) {
    return std::ranges::any_of(store::places_of_file(*asked, source.from), [&](const fs::path& place) {
      return fs::absolute(place).lexically_normal() == earlier.from;
    });
  };
  if (sources.empty() || !std::ranges::equal(sources, search::known_sources(*begun), is_same)) return root;
  root.set("search.known", begun->at("known"));
  return root;
}

void copy_known(const KnownResults& known, const std::filesystem::path& run) {
  for (std::size_t i = 0; i < known.files.size(); ++i) {
    const fs::path copy = copy_in(run, known.sources[i].checksum);
    if (store::exists(copy)) continue;
    const std::string bytes = store::read_file(known.files[i]);
    if (checksum(bytes) != known.sources[i].checksum)
      throw UserError("search.known: " + known.files[i].string() + " has changed since it was read");
    store::make_own_folder(copy.parent_path());
    store::publish_file(copy, bytes);
  }
}

}  // namespace skyline::app
