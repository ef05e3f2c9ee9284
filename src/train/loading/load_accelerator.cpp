#include "train/loading/load_accelerator.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/system/program_files.hpp"
#include "train/loading/driver_report.hpp"
#include "train/loading/shared_library.hpp"

#include <cstdlib>
#include <map>

#include <caffe2/core/common.h>
#include <dlfcn.h>

namespace skyline::train {
namespace {

constexpr const char* kFileName = "libskyline_cuda.so";
constexpr const char* kVariable = "SKYLINE_CUDA_LIBRARY";

constexpr AcceleratorHost kHost = {[](int level, const char* text, std::size_t size) {
  log::write(static_cast<log::Level>(level), {text, size});
}};

}  // namespace

std::string find_accelerator_library(std::string& reason) {
  if (const auto file = find_program_file(kFileName, kVariable, reason)) return *file;
  if (std::getenv(kVariable) == nullptr) {
    reason = std::string("this build has no cuda module (") + kFileName +
             " beside the program, in ../lib or by the loader): build it with " +
             "SKYLINE_CUDA=on, or name the file in " + kVariable;
  }
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
  // Sets the work space of cuBLAS, 4 MiB, which every slot keeps. The default is 32 MiB, so that what fits on
  // a small device would depend on the number of slots.
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:1:16:8", 0);
  const DriverReport report = read_driver();
  reason = driver_problem(report);
  if (has_unusable_gpu(report)) throw UserError(reason);
  if (!reason.empty()) return nullptr;
  const std::string file = find_accelerator_library(reason);
  auto accelerator = file.empty() ? nullptr : open_accelerator_library(file, reason);
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
