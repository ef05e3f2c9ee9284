#include "app/config/known_results.hpp"

#include "skyline/core/error.hpp"

#include "core/system/process.hpp"
#include "core/text/hash.hpp"
#include "core/text/wording.hpp"
#include "evaluate/benchmark_table.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/fresh_folder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;

/// Returns the copy of a source in a run's folder.
fs::path copy_in(const fs::path& run, const std::string& checksum) {
  return store::known_folder({run}) / (checksum + ".csv");
}

/// Returns where a source may be: beside the configuration, or else in the folder in which the program
/// starts.
std::array<fs::path, 2> places_of(const search::KnownSource& source, const ConfigNode& node) {
  const fs::path given = expand_home(source.from);
  return {(fs::path(node.position().file).parent_path() / given).lexically_normal(), given};
}

/// Finds a source: its copy in the run, if the configuration is that of a run.
fs::path locate(const ConfigNode& node, search::KnownSource& source) {
  const fs::path folder = fs::path(node.position().file).parent_path();
  if (!source.checksum.empty() && store::exists(copy_in(folder, source.checksum)))
    return copy_in(folder, source.checksum);
  for (const fs::path& path : places_of(source, node)) {
    if (!store::exists(path)) continue;
    source.from = fs::absolute(path).lexically_normal().string();
    return fs::is_directory(path) ? store::RunPaths{path}.search_state_csv() : path;
  }
  node.fail("there is no " + source.from + ", nor is it beside the configuration");
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

/// The metrics that objectives and constraints need, as columns of a table.
evaluate::TableOptions table_of(const fs::path& file, const objective::ObjectiveSet& objectives) {
  evaluate::TableOptions options;
  options.file = file.string();
  for (const std::string& name : objectives.measured_needed()) {
    evaluate::TableMetric metric;
    metric.name = name;
    metric.columns = {{.column = name}};
    options.metrics.push_back(std::move(metric));
  }
  return options;
}

/// Adds the results of a table. Of several results of an architecture the last one counts, since it may be a
/// trial that was continued. Returns how many rows were left out.
std::size_t add_results(const evaluate::BenchmarkRows& rows, const space::SearchSpace& space,
                        const std::vector<trial::Metric>& metrics, std::uint32_t source,
                        std::vector<trial::CommittedTrial>& results) {
  std::unordered_map<space::ArchId, std::size_t> places;
  std::size_t left_out = rows.outside;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    space::BuildAttempt attempt = space.try_build(rows.genotype(row));
    trial::Measurements measured{std::vector<double>(metrics.size(), std::nan(""))};
    bool is_whole = attempt.architecture.has_value();
    for (std::size_t p = 0; is_whole && p < rows.parameters; ++p) {
      is_whole = !attempt.architecture->used[p] || !rows.empty[row * rows.parameters + p];
    }
    for (std::size_t column = 0; is_whole && column < rows.columns.size(); ++column) {
      const auto metric = std::ranges::find(metrics, rows.columns[column], &trial::Metric::name);
      const double value = rows.values[row * rows.columns.size() + column];
      measured.values[static_cast<std::size_t>(metric - metrics.begin())] = value;
      is_whole = !std::isnan(value);
    }
    if (!is_whole) {
      ++left_out;
      continue;
    }
    const auto [found, is_new] = places.try_emplace(attempt.architecture->id, results.size());
    if (is_new) results.emplace_back();
    trial::CommittedTrial& result = results[found->second];
    result.trial.number = found->second;
    result.trial.proposal.iteration = source;
    result.trial.proposal.architecture =
        std::make_shared<const space::Architecture>(attempt.architecture->unbuilt());
    result.outcome = std::move(measured);
  }
  return left_out;
}

}  // namespace

KnownResults read_known(const ConfigNode& written, const space::SearchSpace& space,
                        const objective::ObjectiveSet& objectives,
                        const std::vector<trial::Metric>& metrics) {
  KnownResults known;
  (void)search::known_kind().read(written, known.sources);
  for (std::size_t i = 0; i < known.sources.size(); ++i) {
    const ConfigNode& node = written.items()[i];
    search::KnownSource& source = known.sources[i];
    known.files.push_back(locate(node, source));
    note_content(node, source, known.files.back());
    evaluate::BenchmarkRows rows;
    try {
      rows = evaluate::read_rows(table_of(known.files.back(), objectives), space);
    } catch (const UserError& error) {
      node.fail(std::string("of another space or other metrics: ") + error.what());
    }
    const std::size_t before = known.results.size();
    const std::size_t left_out =
        add_results(rows, space, metrics, static_cast<std::uint32_t>(i), known.results);
    known.remarks.push_back(
        "search.known: " + counted(known.results.size() - before, "architecture") + " of " + source.from +
        (left_out == 0
             ? std::string()
             : "; " + counted(left_out, "row") + " left out, which failed or are of another space"));
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
    return std::ranges::any_of(places_of(source, *asked), [&](const fs::path& place) {
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
