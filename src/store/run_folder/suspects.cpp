#include "store/run_folder/suspects.hpp"

#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "trial/refit.hpp"

#include <charconv>
#include <sstream>
#include <system_error>

namespace skyline::store {
namespace {

constexpr std::string_view kSuspectEnd = ".suspect";

std::filesystem::path suspect_path(const RunPaths& paths, trial::TrialName trial) {
  return paths.checkpoints() / (to_text(trial) + std::string(kSuspectEnd));
}

}  // namespace

Suspects read_suspects(const RunPaths& paths) {
  Suspects suspects;
  for (const std::filesystem::path& path : list_folder(paths.checkpoints())) {
    if (path.extension() != kSuspectEnd) continue;
    const std::optional<trial::TrialName> trial = parse_trial_name(path.stem().string());
    if (!trial) continue;
    Suspect& suspect = suspects[*trial];
    std::istringstream words(read_file(path));
    for (Suspect::Death death; words >> death.job >> death.cause;) suspect.deaths.push_back(death);
  }
  return suspects;
}

void write_suspect(const RunPaths& paths, trial::TrialName trial, const Suspect& suspect) {
  std::string text;
  for (const Suspect::Death& death : suspect.deaths) text += death.job + " " + death.cause + "\n";
  publish_file(suspect_path(paths, trial), text);
}

void remove_suspect(const RunPaths& paths, trial::TrialName trial) {
  remove_file(suspect_path(paths, trial));
}

std::optional<trial::TrialName> parse_trial_name(std::string_view text) {
  trial::TrialName name;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, name.number);
  if (error != std::errc()) return std::nullopt;
  constexpr std::string_view kFinal = ".final";
  const std::string_view kind(rest, end);
  const bool is_refit = kind == ".refit";
  name.is_final = is_refit || kind.starts_with(kFinal);
  if (is_refit) name.repeat = trial::kRefit;
  if (!is_refit && name.is_final && end - rest > std::ssize(kFinal) + 1)
    std::from_chars(rest + kFinal.size() + 1, end, name.repeat);
  if (to_text(name) != text) return std::nullopt;
  return name;
}

}  // namespace skyline::store
