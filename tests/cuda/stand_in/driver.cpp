#include "stand_in.hpp"

#include <cstdio>

#include <cuda_runtime_api.h>

// The CUDA driver, as far as the program and LibTorch ask for it.

namespace {

constexpr int kNoDevice = 100;
constexpr int kInvalidValue = 1;

}  // namespace

extern "C" {

int cuInit(unsigned) {
  return stand_in_devices() > 0 ? 0 : kNoDevice;
}

int cuDriverGetVersion(int* version) {
  constexpr long kVersion = 13000;
  *version = static_cast<int>(stand_in_setting("DRIVER", kVersion));
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = stand_in_devices();
  return 0;
}

int cuDeviceGet(int* device, int index) {
  *device = index;
  return 0;
}

int cuDeviceGetName(char* text, int size, int) {
  std::snprintf(text, static_cast<std::size_t>(size), "NVIDIA H100 80GB HBM3");
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  return cudaDeviceGetAttribute(value, static_cast<cudaDeviceAttr>(attribute), device);
}

int cuGetErrorString(int, const char** text) {
  *text = "an error of the stand-in";
  return 0;
}

int cuPointerGetAttribute(void*, int, unsigned long long) {
  return kInvalidValue;
}

int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  *flags = 0;
  *active = stand_in_has_context(device);
  return 0;
}

// LibTorch makes the primary context current where a thread has none.

int cuCtxGetCurrent(void** context) {
  *context = nullptr;
  return 0;
}

int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = nullptr;
  return 0;
}

int cuCtxSetCurrent(void*) {
  return 0;
}
}
