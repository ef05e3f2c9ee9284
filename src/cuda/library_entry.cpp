#include "core/log.hpp"
#include "cuda/cuda_accelerator.hpp"
#include "cuda/nccl/nccl_connection.hpp"
#include "cuda/streams/check_cuda.hpp"
#include "train/loading/load_accelerator.hpp"
#include "train/loading/shared_library.hpp"

#include <atomic>
#include <string>

namespace skyline {
namespace {

std::atomic<decltype(train::AcceleratorHost::write_log)> host_log = nullptr;

std::shared_ptr<train::Accelerator> open_library(const train::AcceleratorHost& host, std::string& reason) {
  host_log = host.write_log;
  return cuda::make_cuda_accelerator(reason);
}

/// Returns the versions of the runtime libraries. The driver's may be newer.
std::string versions() {
  int cuda = 0;  // 13000 for 13.0
  cuda::check_cuda(cudaRuntimeGetVersion(&cuda), "cudaRuntimeGetVersion");
  return "CUDA " + std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10) + ", NCCL " +
         cuda::nccl_version();
}

constexpr train::AcceleratorLibrary kLibrary = {train::kModuleInterface, &open_library, &versions};

}  // namespace

/// Replaces core's function, because the log file, its lock and the rank's prefix belong to the program.
void log::write(Level level, std::string_view message) {
  if (const auto write_line = host_log.load())
    write_line(static_cast<int>(level), message.data(), message.size());
}

extern "C" const train::AcceleratorLibrary* skyline_accelerator_library() {
  return &kLibrary;
}

}  // namespace skyline
