#include "train/loading/load_accelerator.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "train/loading/driver_report.hpp"
#include "train/loading/shared_library.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <vector>

#include <caffe2/core/common.h>
#include <dlfcn.h>

namespace skyline::train {
namespace {

constexpr const char* kFileName = "libskyline_cuda.so";
constexpr const char* kVariable = "SKYLINE_CUDA_LIBRARY";

constexpr AcceleratorHost kHost = {[](int level, const char* text, std::size_t size) {
  log::write(static_cast<log::Level>(level), {text, size});
}};

/// Returns the folders in which the loader looks for the program's libraries: LD_LIBRARY_PATH, then the
/// folders with which it was linked. So a program built on an installed Skyline finds its module.
std::vector<std::filesystem::path> loader_folders() {
  Dl_serinfo count{};
  void* const program = dlopen(nullptr, RTLD_LAZY);
  if (program == nullptr || dlinfo(program, RTLD_DI_SERINFOSIZE, &count) != 0) return {};
  std::vector<std::max_align_t> memory(count.dls_size / sizeof(std::max_align_t) + 1);
  auto* const found = reinterpret_cast<Dl_serinfo*>(memory.data());
  found->dls_size = count.dls_size;
  found->dls_cnt = count.dls_cnt;
  if (dlinfo(program, RTLD_DI_SERINFO, found) != 0) return {};
  std::vector<std::filesystem::path> folders;
  for (unsigned i = 0; i < found->dls_cnt; ++i) folders.emplace_back(found->dls_serpath[i].dls_name);
  return folders;
}

}  // namespace

std::string find_accelerator_library(std::string& reason) {
  std::error_code ignored;
  if (const char* file = std::getenv(kVariable)) {
    if (std::filesystem::exists(file, ignored)) return file;
    reason = std::string(kVariable) + ": " + file + " is not there";
    return {};
  }
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  std::vector<std::filesystem::path> folders{folder, folder.parent_path() / "lib"};
  std::ranges::copy(loader_folders(), std::back_inserter(folders));
  for (const auto& place : folders) {
    if (std::filesystem::exists(place / kFileName, ignored)) return place / kFileName;
  }
  reason = std::string("this build has no cuda module (") + kFileName +
           " beside the program, in ../lib or by the loader): build it with " +
           "SKYLINE_CUDA=on, or name the file in " + kVariable;
  return {};
}

std::shared_ptr<Accelerator> open_accelerator_library(const std::string& file, std::string& reason) {
  SharedLibrary library(file);
  if (!library) {
    reason = "the cuda module does not load: " + library.error();
    return nullptr;
  }
  const auto entry = library.function<AcceleratorLibraryEntry>(kAcceleratorLibraryEntry);
  library.keep();  // keeps a wrong one too: it may have loaded LibTorch's CUDA part, whose registration stays
  if (entry == nullptr) {
    reason = file + " is not Skyline's cuda module";
    return nullptr;
  }
  const AcceleratorLibrary& offered = *entry();
  if (std::string_view(offered.interface) != kAcceleratorInterface) {
    reason = file + " was built from other sources than this program: build both together";
    return nullptr;
  }
  return offered.open(kHost, reason);
}

std::string accelerator_versions() {
  std::string reason;
  const std::string file = find_accelerator_library(reason);
  require(!file.empty(), "no accelerator was loaded");
  const SharedLibrary library(file);  // opens the loaded library once more
  const auto entry = library.function<AcceleratorLibraryEntry>(kAcceleratorLibraryEntry);
  require(entry != nullptr, "the cuda module is another one now");
  return entry()->versions();
}

std::shared_ptr<Accelerator> load_accelerator(std::string& reason) {
  // Sets the number of hardware queues, so that slots do not wait for one another. The default is 8.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  const DriverReport report = read_driver();
  reason = driver_problem(report);
  if (has_unusable_gpu(report)) throw UserError(reason);
  if (!reason.empty()) return nullptr;
  const std::string file = find_accelerator_library(reason);
  if (file.empty()) return nullptr;
  auto accelerator = open_accelerator_library(file, reason);
  if (accelerator == nullptr) throw UserError("a GPU is there and cannot be used: " + reason);
  return accelerator;
}

/// Returns LibTorch's own version, since that of the headers is only the build's. at::show_config() is not
/// used, because it looks for the CUDA part: if the module is not loaded yet, LibTorch then never finds it.
std::string torch_version() {
  const std::map<std::string, std::string>& options = caffe2::GetBuildOptions();
  const auto version = options.find("TORCH_VERSION");
  return version == options.end() ? "unknown" : version->second;
}

}  // namespace skyline::train
