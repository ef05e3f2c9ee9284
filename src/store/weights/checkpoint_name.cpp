#include "store/weights/checkpoint_name.hpp"

#include <charconv>
#include <system_error>

namespace skyline::store {
namespace {

std::string file_name(trial::TrialName trial, std::uint64_t turn) {
  return to_text(trial) + "." + std::to_string(turn) + ".h5";
}

}  // namespace

std::filesystem::path checkpoint_path(const RunPaths& paths, trial::TrialName trial, std::uint64_t turn) {
  return paths.checkpoints() / file_name(trial, turn);
}

std::optional<trial::TrialName> trial_of_checkpoint(const std::string& name) {
  trial::TrialName trial;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), trial.number);
  if (error != std::errc()) return std::nullopt;
  for (std::uint64_t turn = 0; turn < kCheckpointNames; ++turn) {
    for (const bool is_final : {false, true}) {
      trial.is_final = is_final;
      if (name == file_name(trial, turn)) return trial;
    }
  }
  return std::nullopt;
}

}  // namespace skyline::store
