#include "store/weights/checkpoint_name.hpp"

#include <charconv>
#include <system_error>

namespace skyline::store {
namespace {

std::string file_name(trial::TrialNumber trial, std::uint64_t turn) {
  return std::to_string(trial) + "." + std::to_string(turn) + ".h5";
}

}  // namespace

std::filesystem::path checkpoint_path(const RunPaths& paths, trial::TrialNumber trial, std::uint64_t turn) {
  return paths.checkpoints() / file_name(trial, turn);
}

std::optional<trial::TrialNumber> trial_of_checkpoint(const std::string& name) {
  trial::TrialNumber trial = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), trial);
  if (error != std::errc()) return std::nullopt;
  for (std::uint64_t turn = 0; turn < kCheckpointNames; ++turn) {
    if (name == file_name(trial, turn)) return trial;
  }
  return std::nullopt;
}

}  // namespace skyline::store
