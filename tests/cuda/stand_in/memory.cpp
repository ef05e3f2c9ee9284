#include "state.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

// Memory and copies of the CUDA runtime. A device's memory begins as zeros.

using namespace stand_in;

namespace {

struct Block {
  std::size_t bytes = 0;
  int device = 0;
};

/// The blocks of all devices by address; the mutex of the state guards them.
std::map<const char*, Block>& blocks() {
  static auto& blocks = *new std::map<const char*, Block>;
  return blocks;
}

/// Returns the block that an address lies in, or nullptr.
const Block* block_of(const void* pointer) {
  const char* address = static_cast<const char*>(pointer);
  auto next = blocks().upper_bound(address);
  if (next == blocks().begin()) return nullptr;
  const auto& [begin, block] = *std::prev(next);
  return address < begin + block.bytes ? &block : nullptr;
}

const char* name_of(cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return "copy to the device";
    case cudaMemcpyDeviceToHost:
      return "copy to the host";
    default:
      return "copy";
  }
}

}  // namespace

extern "C" {

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  const std::lock_guard lock(state().mutex);
  use_context("cudaMemGetInfo");
  if (is_device_broken()) return fail(cudaErrorIllegalAddress);
  *total = device_memory();
  *free_bytes = *total - std::min(*total, state().bytes[this_thread().device]);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  if (const cudaError_t error = check_call("cudaMalloc")) return error;
  const std::lock_guard lock(state().mutex);
  const int device = this_thread().device;
  *pointer = nullptr;
  if (state().bytes[device] + bytes > device_memory()) return fail(cudaErrorMemoryAllocation);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return fail(cudaErrorMemoryAllocation);
  ++state().counts["allocations"];
  blocks()[static_cast<const char*>(memory)] = {bytes, device};
  state().bytes[device] += bytes;
  state().most_bytes[device] = std::max(state().most_bytes[device], state().bytes[device]);
  *pointer = memory;
  return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  if (const cudaError_t error = check_call("cudaFree")) return error;
  if (pointer == nullptr) return cudaSuccess;
  const std::lock_guard lock(state().mutex);
  ++state().counts["frees"];
  const auto found = blocks().find(static_cast<const char*>(pointer));
  if (found == blocks().end()) return violate("cudaFree of what is no block", cudaErrorInvalidValue);
  state().bytes[found->second.device] -= found->second.bytes;
  munmap(pointer, found->second.bytes);
  blocks().erase(found);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  if (const cudaError_t error = check_call("cudaHostAlloc")) return error;
  *pointer = std::calloc(1, bytes);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* pointer) {
  if (const cudaError_t error = check_call("cudaFreeHost")) return error;
  std::free(pointer);
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const std::lock_guard lock(state().mutex);
  *attributes = {};
  attributes->type = cudaMemoryTypeUnregistered;
  attributes->device = cudaInvalidDeviceId;
  if (const Block* block = block_of(pointer)) {
    attributes->type = cudaMemoryTypeDevice;
    attributes->device = block->device;
    attributes->devicePointer = const_cast<void*>(pointer);
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (const cudaError_t error = queue(stream, name_of(kind))) return error;
  stand_in_count(name_of(kind));
  std::memmove(target, source, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind) {
  if (const cudaError_t error = check_call("cudaMemcpy")) return error;
  stand_in_count("synchronizations");
  return cudaMemcpyAsync(target, source, bytes, kind, nullptr);
}

cudaError_t cudaMemcpyPeerAsync(void* target, int, const void* source, int, std::size_t bytes,
                                cudaStream_t stream) {
  return cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemsetAsync(void* target, int value, std::size_t bytes, cudaStream_t stream) {
  if (const cudaError_t error = queue(stream, "memset")) return error;
  std::memset(target, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
  *pointer = const_cast<void*>(symbol);
  return cudaSuccess;
}
}
