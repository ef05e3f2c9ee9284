#include "train/loading/load_accelerator.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/system/program_files.hpp"
#include "train/loading/driver_report.hpp"
#include "train/loading/shared_library.hpp"

#include <cstdlib>

namespace skyline::train {
namespace {

constexpr const char* kFileName = "libskyline_cuda.so";
constexpr const char* kVariable = "SKYLINE_CUDA_LIBRARY";

constexpr AcceleratorHost kHost = {[](int level, const char* text, std::size_t size) {
  log::write(static_cast<log::Level>(level), {text, size});
}};

const AcceleratorLibrary* open_library(const std::string& file, std::string& reason) {
  return open_module<AcceleratorLibrary>(file, "cuda module", "skyline_accelerator_library", reason);
}

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
  const auto* library = open_library(file, reason);
  return library == nullptr ? nullptr : library->open(kHost, reason);
}

std::string accelerator_versions() {
  std::string reason;
  const std::string file = find_accelerator_library(reason);
  require(!file.empty(), "no accelerator was loaded");
  const auto* library = open_library(file, reason);  // the loaded one once more
  require(library != nullptr, "the cuda module is another one now");
  return library->versions();
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

}  // namespace skyline::train
