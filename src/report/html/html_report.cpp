#include "report/html/html_report.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/hash.hpp"
#include "report/files/answers.hpp"
#include "report/files/search_state_csv.hpp"
#include "report/files/trial_results.hpp"
#include "report/files/trials_json.hpp"
#include "report/html/run_json.hpp"
#include "report/text/status.hpp"
#include "run/opened_run.hpp"
#include "store/journal/run_tables.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

// Bytes of page_files.S: each file ends where the next one begins.
extern "C" {
extern const char skyline_page_template[];
extern const char skyline_page_style[];
extern const char skyline_page_script[];
extern const char skyline_page_library[];
extern const char skyline_page_end[];
}

namespace skyline::report {
namespace {

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

/// Replaces the only `{{name}}` of the template.
void fill(std::string& page, std::string_view name, std::string_view text) {
  const std::string mark = "{{" + std::string(name) + "}}";
  page.replace(page.find(mark), mark.size(), text);
}

/// Returns the source expression with which the page's policy allows a script.
std::string script_source(std::string_view script) {
  return "'sha256-" + base64_of_hex(sha256_hex(script)) + "'";
}

/// Returns JSON that can be embedded in an element of the page, since none of its texts can end the element.
std::string embedded(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char letter : text) {
    if (letter == '<') {
      safe += "\\u003c";
    } else {
      safe += letter;
    }
  }
  return safe;
}

constexpr std::size_t kMostWarnings = 200;

std::string state_of(const store::RunPaths& paths, const RunStatus& status) {
  const std::optional<store::RunOwner> owner = store::read_owner(paths);
  const bool claims_to_run = status.state == "running" || status.state == "stopping";
  return claims_to_run && !(owner && owner->active) ? "not running" : status.state;
}

/// Returns whether a line of the log ("2026-05-01 10:00:00.000 warning ...") is a warning or an error.
bool is_warning(std::string_view line) {
  const std::size_t date = line.find(' ');
  const std::size_t time = date == std::string_view::npos ? date : line.find(' ', date + 1);
  if (time == std::string_view::npos) return false;
  const std::string_view rest = line.substr(time + 1);
  return rest.starts_with("warning ") || rest.starts_with("error ");
}

void read_warnings(ReportedRun& run) {
  const auto path = run.opened.paths.log();
  if (!store::exists(path)) return;
  std::istringstream log(store::read_run_file(path));
  for (std::string line; std::getline(log, line);) {
    if (is_warning(line)) run.warnings.push_back(line);
  }
  if (run.warnings.size() <= kMostWarnings) return;
  run.more_warnings = run.warnings.size() - kMostWarnings;
  run.warnings.erase(run.warnings.begin(), run.warnings.end() - kMostWarnings);
}

Json quantity_json(const Quantity& quantity) {
  Json means = Json::array();
  for (const Mean& mean : quantity.means) {
    means.push_back(
        {{"count", mean.count}, {"value", short_number(mean.value)}, {"margin", short_number(mean.margin)}});
  }
  Json tests = Json::array();
  for (const Quantity::Test& test : quantity.tests) {
    tests.push_back({{"left", test.left},
                     {"right", test.right},
                     {"u", short_number(test.result.u)},
                     {"p", short_number(test.result.p)}});
  }
  Json values = Json::array();  // one per run
  for (const double value : quantity.values) values.push_back(short_number(value));
  return {{"name", quantity.name},
          {"values", std::move(values)},
          {"means", std::move(means)},
          {"tests", std::move(tests)}};
}

/// Returns groups, means and tests of several runs, or the reason why there are none; null for one run.
Json comparison_json(const ReportOptions& options) {
  if (!options.comparison) {
    return options.no_comparison.empty() ? Json(nullptr) : Json{{"problem", options.no_comparison}};
  }
  const Comparison& comparison = *options.comparison;
  Json groups = Json::array();
  for (const RunGroup& group : comparison.groups) {
    Json names = Json::array();
    for (const std::size_t run : group.runs) names.push_back(comparison.runs[run].name);
    groups.push_back({{"name", group.name}, {"runs", std::move(names)}});
  }
  Json quantities = Json::array();
  for (const Quantity& quantity : comparison.quantities) quantities.push_back(quantity_json(quantity));
  return {
      {"trials", comparison.trials}, {"groups", std::move(groups)}, {"quantities", std::move(quantities)}};
}

}  // namespace

std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < hex.size(); i += 6) {  // three bytes
    const std::string digits(hex.substr(i, 6));
    const auto bits = static_cast<std::uint32_t>(std::stoul(digits, nullptr, 16))
                      << (4 * (6 - digits.size()));
    const std::size_t letters = digits.size() / 2 + 1;
    for (std::size_t l = 0; l < 4; ++l) text += l < letters ? kLetters[(bits >> (18 - 6 * l)) & 63] : '=';
  }
  return text;
}

std::string report_page(std::span<const ReportedRun> runs, const ReportOptions& options) {
  const std::string_view library = between(skyline_page_library, skyline_page_end);
  const std::string_view script = between(skyline_page_script, skyline_page_library);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  Json data{{"made", std::chrono::duration_cast<std::chrono::seconds>(now).count()},
            {"reload", options.reload_s ? Json(*options.reload_s) : Json(nullptr)},
            {"comparison", comparison_json(options)},
            {"runs", Json::array()}};
  for (const ReportedRun& run : runs) data["runs"].push_back(run_json(run));
  std::string page(between(skyline_page_template, skyline_page_style));
  fill(page, "policy", script_source(library) + " " + script_source(script));
  fill(page, "style", between(skyline_page_style, skyline_page_script));
  fill(page, "library", library);
  fill(page, "script", script);
  fill(page, "data", embedded(data));
  return page;
}

ReportInputs inputs_of(const ReportedRun& run) {
  return {.space = run.opened.space,
          .metrics = run.opened.header.metrics,
          .state = run.opened.state,
          .baselines = run::baselines_of(run.opened.config),
          .source = {},
          .latencies = run.latencies,
          .replicates = replicates_in(run.answers),
          .may_be_lucky = run.may_be_lucky};
}

ReportedRun reported_run(run::OpenedRun opened, const std::string& state) {
  ReportedRun run{.name = run_name(opened.paths), .state = state, .opened = std::move(opened)};
  const store::RunPaths& paths = run.opened.paths;
  run.courses = store::read_courses(paths, run.opened.header.metrics);
  run.config = store::read_run_file(paths.config());
  run.answers = read_answers(paths, run.opened.state);
  run.latencies = read_latencies(paths);
  read_warnings(run);
  return run;
}

ReportedRun read_reported_run(const std::filesystem::path& folder) {
  run::OpenedRun opened = run::OpenedRun::open(folder);
  const RunStatus status = read_status(opened.paths).value_or(RunStatus());
  opened.state.set_search_summary(status.search_summary);
  const std::string state = state_of(opened.paths, status);
  return reported_run(std::move(opened), state);
}

void write_tables(const ReportedRun& run) {
  const run::OpenedRun& opened = run.opened;
  std::vector<bool> on_front;
  for (const run::SharedTrial& committed : opened.state.trials()) {
    on_front.push_back(opened.state.on_its_front(committed->trial));
  }
  store::write_run_tables(opened.paths.tables(), opened.state.trials(), on_front, opened.header.metrics,
                          opened.space, run.config, opened.account.slots, run.courses);
}

void write_models(const ReportedRun& run) {
  write_models_json(run.opened.paths, inputs_of(run));
}

void write_search_state(const ReportedRun& run) {
  write_search_state_csv(run.opened.paths, inputs_of(run));
}

void write_pareto(const ReportedRun& run) {
  write_pareto_json(run.opened.paths, inputs_of(run));
}

void write_page(const ReportedRun& run) {
  const std::string page = report_page({&run, 1});
  try {
    store::publish_file(run.opened.paths.report_html(), page, store::Effort::kOnce);
  } catch (const Problem& problem) {
    log::warning(fmt::format("{}; skyline report {} makes the page again", problem.what(),
                             run.opened.paths.root.string()));
  }
}

std::vector<std::filesystem::path> result_paths(const store::RunPaths& paths) {
  std::vector<std::filesystem::path> found;
  for (const ResultFile& file : kResultFiles) found.push_back((paths.*file.path)());
  return found;
}

}  // namespace skyline::report
