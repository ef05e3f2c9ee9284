#include "state.hpp"

#include <cstdio>

// Devices, versions and errors of the CUDA runtime.

using namespace stand_in;

namespace {

constexpr int kVersion = CUDART_VERSION;
constexpr int kThreads = 1024;       // threads of a block
constexpr int kProcessors = 132;     // multiprocessors of an H100
constexpr int kSharedBytes = 49152;  // shared memory of a block
constexpr int kMostSharedBytes = 232448;

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = stand_in_devices();
  return *count > 0 ? cudaSuccess : fail(cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int* device) {
  *device = this_thread().device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= stand_in_devices()) return fail(cudaErrorInvalidDevice);
  const std::lock_guard lock(state().mutex);
  this_thread().device = device;
  use_context("cudaSetDevice");
  return cudaSuccess;
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
  const std::lock_guard lock(state().mutex);
  state().contexts.emplace(device, "cudaInitDevice");
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
  constexpr int kFirstBus = 0x10;
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02X:00.0",
                static_cast<unsigned>(kFirstBus + stand_in_number_on_node(device)));
  return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = kVersion;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = kVersion;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "NVIDIA H100 80GB HBM3");
  properties->totalGlobalMem = device_memory();
  properties->sharedMemPerBlock = kSharedBytes;
  properties->sharedMemPerBlockOptin = kMostSharedBytes;
  properties->sharedMemPerMultiprocessor = kMostSharedBytes + 1024;
  properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = kThreads;
  properties->maxThreadsPerMultiProcessor = 2 * kThreads;
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = kThreads;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = 2147483647;
  properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
  properties->major = 9;
  properties->multiProcessorCount = kProcessors;
  properties->maxBlocksPerMultiProcessor = 32;
  properties->l2CacheSize = 50 << 20;
  properties->unifiedAddressing = properties->concurrentKernels = 1;
  properties->textureAlignment = 512;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  constexpr int kComputeModeExclusiveProcess = 3;
  switch (attribute) {
    case cudaDevAttrComputeMode:
      *value = stand_in_setting("EXCLUSIVE", 0) != 0 ? kComputeModeExclusiveProcess : 0;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = kProcessors;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      break;
    case cudaDevAttrWarpSize:
      *value = 32;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = kSharedBytes;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = kMostSharedBytes;
      break;
    case cudaDevAttrMaxThreadsPerBlock:
      *value = kThreads;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = 2 * kThreads;
      break;
    default:
      *value = 1;
  }
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  const cudaError_t error = this_thread().last_error;
  this_thread().last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  return this_thread().last_error;
}

const char* cudaGetErrorString(cudaError_t error) {
  thread_local char text[32];
  std::snprintf(text, sizeof text, "CUDA error %d", static_cast<int>(error));
  return text;
}

const char* cudaGetErrorName(cudaError_t error) {
  return cudaGetErrorString(error);
}
}
