#include "store/journal/step_values.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "store/journal/journal_line.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/publish.hpp"

#include <string_view>

namespace skyline::store {
namespace {

constexpr std::string_view kStepsEnd = ".steps.json";

std::filesystem::path steps_path(const RunPaths& paths, trial::TrialName trial) {
  return paths.checkpoints() / (to_text(trial) + std::string(kStepsEnd));
}

}  // namespace

void write_step_values(const RunPaths& paths, trial::TrialName trial, const std::string& provenance,
                       const std::vector<trial::StepValues>& steps,
                       const std::vector<trial::Metric>& metrics) {
  const nlohmann::ordered_json line{{"provenance", provenance}, {"steps", encode_steps(steps, metrics)}};
  publish_file(steps_path(paths, trial), seal_line(line));
}

std::vector<trial::StepValues> read_step_values(const RunPaths& paths, trial::TrialName trial,
                                                const std::string& provenance,
                                                const std::vector<trial::Metric>& metrics) {
  const std::filesystem::path path = steps_path(paths, trial);
  if (!store::exists(path)) return {};
  std::string text = read_file(path);
  try {
    if (text.ends_with('\n')) text.pop_back();
    const auto line = parse_line(text);
    if (!line) throw UserError("checksum does not match");
    if (decode_text(*line, "provenance") != provenance) throw UserError("it is of another trial");
    return decode_steps(member(*line, "steps"), metrics);
  } catch (const UserError& problem) {
    log::warning(path.string() + ": " + problem.what() + "; the trial reports its values again");
    return {};
  }
}

void remove_step_values(const RunPaths& paths, trial::TrialName trial) {
  remove_file(steps_path(paths, trial));
}

void remove_all_step_values(const RunPaths& paths) {
  for (const std::filesystem::path& path : list_folder(paths.checkpoints())) {
    if (path.filename().string().ends_with(kStepsEnd)) remove_file(path);
  }
}

}  // namespace skyline::store
