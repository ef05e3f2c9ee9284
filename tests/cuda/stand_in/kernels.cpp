#include "state.hpp"

#include <vector>

// Kernels of the CUDA runtime: their registration, which the compiler of CUDA calls, and their launch.

using namespace stand_in;

namespace {

struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
};

std::vector<Configuration>& configurations() {
  thread_local std::vector<Configuration> configurations;
  return configurations;
}

cudaError_t launch(const void* kernel, dim3 grid, dim3 block, cudaStream_t stream) {
  constexpr unsigned kMostThreads = 1024;
  constexpr unsigned kMostBlocks = 65535;  // in y and z
  delay();
  stand_in_count("kernels");
  const std::lock_guard lock(state().mutex);
  const auto name = state().kernels.find(kernel);
  const std::string text = name == state().kernels.end() ? "a kernel without a name" : name->second;
  const unsigned threads = block.x * block.y * block.z;
  const bool fits = grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.y <= kMostBlocks &&
                    grid.z <= kMostBlocks && threads > 0 && threads <= kMostThreads;
  return fits ? queue(stream, text) : violate(text + " with a wrong shape", cudaErrorInvalidConfiguration);
}

}  // namespace

extern "C" {

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, CUstream_st* stream) {
  configurations().push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  const Configuration last = configurations().back();
  configurations().pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}

void** __cudaRegisterFatBinary(void*) {
  static void* handle = nullptr;
  return &handle;
}

void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}

void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {
  const std::lock_guard lock(state().mutex);
  state().kernels[host] = name;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void**, std::size_t,
                               cudaStream_t stream) {
  return launch(kernel, grid, block, stream);
}

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void**, std::size_t,
                             cudaStream_t stream) {
  return launch(kernel, grid, block, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void**) {
  return launch(kernel, config->gridDim, config->blockDim, config->stream);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->binaryVersion = attributes->ptxVersion = 90;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int, std::size_t,
                                                                   unsigned) {
  *blocks = 4;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, std::size_t) {
  *blocks = 4;
  return cudaSuccess;
}
}
