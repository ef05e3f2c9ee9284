// libcuda.so.1 and libnvidia-ml.so.1 in one, with answers planted in environment variables:
//   FAKE_VERSION, FAKE_INIT (status of cuInit), FAKE_DEVICES, FAKE_CAPABILITY, FAKE_MODE, FAKE_NODE_DEVICES,
//   FAKE_MIG

#include <cstdio>
#include <cstdlib>

namespace {

int planted(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  return planted("FAKE_INIT", 0);
}

int cuDriverGetVersion(int* version) {
  *version = planted("FAKE_VERSION", 13000);
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = planted("FAKE_DEVICES", 1);
  return 0;
}

int cuDeviceGet(int* device, int index) {
  *device = 40 + index;  // a handle is not an index
  return 0;
}

int cuDeviceGetName(char* name, int size, int device) {
  std::snprintf(name, static_cast<std::size_t>(size), "Fake GPU %d", device - 40);
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int) {
  const int capability = planted("FAKE_CAPABILITY", 90);
  if (attribute == 20) *value = planted("FAKE_MODE", 0);
  if (attribute == 75) *value = capability / 10;
  if (attribute == 76) *value = capability % 10;
  return 0;
}

int cuGetErrorString(int status, const char** text) {
  *text = status == 802 ? "system not yet initialized" : "planted error";
  return 0;
}

int nvmlInit_v2() {
  return 0;
}

int nvmlShutdown() {
  return 0;
}

int nvmlSystemGetDriverVersion(char* version, unsigned size) {
  std::snprintf(version, size, "550.54.14");
  return 0;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(planted("FAKE_NODE_DEVICES", 1));
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned, void** device) {
  static int handle = 0;
  *device = &handle;
  return 0;
}

int nvmlDeviceGetName(void*, char* name, unsigned size) {
  std::snprintf(name, size, "Fake A100");
  return 0;
}

int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned* pending) {
  *current = *pending = static_cast<unsigned>(planted("FAKE_MIG", 0));
  return 0;
}

}  // extern "C"
