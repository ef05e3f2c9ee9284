#include "evaluate/process/trainer_variables.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <unistd.h>

namespace skyline::evaluate {
namespace {

template <std::size_t size>
using Names = std::array<std::string_view, size>;

constexpr Names<13> kAllowed{
    "PATH",       "HOME",        "USER",         "LOGNAME",   "SHELL", "LANG", "TZ", "LD_LIBRARY_PATH",
    "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME",
    "SLURM_CONF",  // scripts that submit jobs need it
};
constexpr Names<2> kAllowedBeginnings{"LC_", "NCCL_"};

constexpr Names<11> kBeginningsOfLaunchers{"OMPI_", "OPAL_",  "ORTE_", "PMIX_",  "PRTE_", "PMI_",
                                           "SLURM", "HYDRA_", "MPI",   "I_MPI_", "MV2_"};

constexpr Names<6> kOwn{
    "TMPDIR",           "OMP_NUM_THREADS",        "CUDA_VISIBLE_DEVICES", "TORCH_EXTENSIONS_DIR",
    "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR"};

template <std::size_t size>
bool begins_with_one_of(std::string_view name, const Names<size>& beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view each) { return name.starts_with(each); });
}

}  // namespace

bool is_variable_name(std::string_view name) {
  const auto is_allowed = [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::ranges::all_of(name, is_allowed);
}

bool is_of_launcher(std::string_view name) {
  return name != "SLURM_CONF" && begins_with_one_of(name, kBeginningsOfLaunchers);
}

bool is_own_variable(std::string_view name) {
  return std::ranges::find(kOwn, name) != kOwn.end();
}

Variables process_variables() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

Variables allowed_variables(const Variables& all, const std::vector<std::string>& passed) {
  Variables allowed;
  for (const auto& [name, value] : all) {
    const bool is_allowed = std::ranges::find(kAllowed, name) != kAllowed.end() ||
                            begins_with_one_of(name, kAllowedBeginnings) ||
                            std::ranges::find(passed, name) != passed.end();
    if (is_allowed) allowed.emplace(name, value);
  }
  return allowed;
}

}  // namespace skyline::evaluate
