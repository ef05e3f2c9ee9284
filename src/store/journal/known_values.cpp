#include "store/journal/known_values.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "store/journal/journal_line.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/publish.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace skyline::store {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFileEnd = ".steps.json";
constexpr const char* kEarly = "early";

std::filesystem::path known_path(const RunPaths& paths, trial::TrialName trial) {
  return paths.checkpoints() / (to_text(trial) + std::string(kFileEnd));
}

/// Returns the content of a trial's file, or an empty object without one, or if it is ignored.
/// @param is_its  returns whether a file of this provenance is the trial's
Json read_line(const RunPaths& paths, trial::TrialName trial,
               const std::function<bool(const std::string& provenance)>& is_its) {
  const std::filesystem::path path = known_path(paths, trial);
  if (!store::exists(path)) return Json::object();
  std::string text = read_file(path);
  try {
    if (text.ends_with('\n')) text.pop_back();
    auto line = parse_line(text);
    if (!line) throw UserError("checksum does not match");
    if (!is_its(decode_text(*line, "provenance"))) throw UserError("it is of another trial");
    return *std::move(line);
  } catch (const UserError& problem) {
    log::warning(path.string() + ": " + problem.what() + "; the trial's programs are asked and report again");
    return Json::object();
  }
}

trial::EarlyValues::ByMetric early_of(const Json& line) {
  trial::EarlyValues::ByMetric early;
  if (!line.contains(kEarly)) return early;
  for (const auto& [metric, value] : line[kEarly].items()) early[metric] = decode_number(value, kEarly);
  return early;
}

constexpr const char* kArch = "arch";
constexpr const char* kCounted = "costs";

void read_counted_line(std::string_view text, std::size_t costs, CountedCosts& counted) {
  const auto line = parse_line(text);
  if (!line) return;
  std::vector<double> values;
  for (const auto& value : member(*line, kCounted)) values.push_back(decode_number(value, kCounted));
  if (values.size() == costs) counted[decode_arch_id(*line)] = std::move(values);
}

}  // namespace

void write_known_values(const RunPaths& paths, trial::TrialName trial, const std::string& provenance,
                        const KnownValues& values, const std::vector<trial::Metric>& metrics) {
  Json line{{"provenance", provenance}, {"steps", encode_steps(values.steps, metrics)}};
  for (const auto& [metric, value] : values.early) line[kEarly][metric] = encode_number(value);
  publish_file(known_path(paths, trial), seal_line(line));
}

KnownValues read_known_values(const RunPaths& paths, trial::TrialName trial, const std::string& provenance,
                              const std::vector<trial::Metric>& metrics) {
  const Json line =
      read_line(paths, trial, [&](const std::string& of_file) { return of_file == provenance; });
  if (line.empty()) return {};
  return {early_of(line), decode_steps(member(line, "steps"), metrics)};
}

trial::EarlyValues::ByMetric read_searched_values(const RunPaths& paths, const trial::Trial& full_training) {
  const std::string architecture = space::to_text(full_training.architecture().id);
  return early_of(read_line(paths, {full_training.number}, [&](const std::string& of_file) {
    const Json trained = Json::parse(of_file, nullptr, false);
    return trained.is_object() && trained.value("arch", "") == architecture;
  }));
}

void remove_known_values(const RunPaths& paths, trial::TrialName trial) {
  remove_file(known_path(paths, trial));
}

void remove_all_known_values(const RunPaths& paths) {
  for (const std::filesystem::path& path : list_folder(paths.checkpoints())) {
    if (path.filename().string().ends_with(kFileEnd)) remove_file(path);
  }
}

CountedCosts read_counted_costs(const RunPaths& paths, std::size_t costs) {
  CountedCosts counted;
  if (!store::exists(paths.counted_costs())) return counted;
  read_lines(paths.counted_costs(), [&](std::string_view line) { read_counted_line(line, costs, counted); });
  return counted;
}

void append_counted_costs(const RunPaths& paths,
                          std::span<const std::pair<space::ArchId, std::vector<double>>> counted) {
  std::string lines;
  for (const auto& [id, costs] : counted) {
    nlohmann::ordered_json line{{kArch, space::to_text(id)}, {kCounted, nlohmann::ordered_json::array()}};
    for (const double cost : costs) line[kCounted].push_back(encode_number(cost));
    lines += seal_line(line);
  }
  make_own_folder(paths.trainer());
  append_lines(paths.counted_costs(), lines);
}

}  // namespace skyline::store
