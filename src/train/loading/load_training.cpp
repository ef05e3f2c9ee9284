#include "train/loading/load_training.hpp"

#include "skyline/core/error.hpp"

#include "core/system/program_files.hpp"
#include "core/text/wording.hpp"
#include "machine/node.hpp"
#include "train/loading/shared_library.hpp"

#include <string_view>
#include <utility>

namespace skyline::train {
namespace {

// The version that the module was built with, e.g. "2.11"; empty for a LibTorch that does not state its own.
constexpr std::string_view kTorch = SKYLINE_TORCH_RELEASE;

const TrainingModule* loaded = nullptr;

/// Returns the module, or nullptr with a reason.
const TrainingModule* open_training(std::string& reason) {
  const auto file = find_program_file("libskyline_train.so", "SKYLINE_TRAIN_LIBRARY", reason);
  if (!file) return nullptr;
  const auto* module =
      open_module<TrainingModule>(*file, "training module", "skyline_training_module", reason);
  if (module == nullptr) return nullptr;
  const std::string version = module->torch_version();
  if (kTorch.empty() || version.starts_with(std::string(kTorch) + '.')) return module;
  reason = "LibTorch " + version + " is loaded";
  return nullptr;
}

}  // namespace

const TrainingModule& load_training() {
  std::string reason;
  if (loaded == nullptr) loaded = open_training(reason);
  if (loaded == nullptr)
    throw UserError("networks need LibTorch" + (kTorch.empty() ? "" : " " + std::string(kTorch)) +
                    ", which cannot be used here: " + reason);
  return *loaded;
}

const TrainingModule& load_training(evaluate::Ranks& ranks, const std::string& host) {
  std::string found;
  try {
    load_training();
    found = "LibTorch " + torch_version();
  } catch (const UserError& error) {
    found = error.what();
  }
  const std::vector<std::string> hosts = ranks.exchange(host);
  std::vector<machine::HostText> by_host;
  for (std::string& text : ranks.exchange(found)) by_host.push_back({hosts[by_host.size()], std::move(text)});
  const std::vector<std::string> lines = machine::lines_by_host(by_host);
  if (lines.size() > 1) throw UserError("the hosts differ in what they train with: " + joined(lines, "; "));
  return load_training();
}

std::string torch_version() {
  return loaded == nullptr ? "" : loaded->torch_version();
}

}  // namespace skyline::train
