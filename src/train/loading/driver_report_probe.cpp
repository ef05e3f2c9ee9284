#include "train/loading/driver_report.hpp"
#include "train/loading/shared_library.hpp"

#include <array>
#include <cstdlib>
#include <filesystem>

namespace skyline::train {
namespace {

// The driver's functions as declared in cuda.h and nvml.h. Handles are int and void*, results are int.
using CuInit = int (*)(unsigned);
using CuGetNumber = int (*)(int*);
using CuDeviceGet = int (*)(int*, int);
using CuDeviceGetName = int (*)(char*, int, int);
using CuDeviceGetAttribute = int (*)(int*, int, int);
using CuGetErrorString = int (*)(int, const char**);
constexpr int kComputeMode = 20;
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;
constexpr int kProhibited = 2;

using NvmlCall = int (*)();
using NvmlGetCount = int (*)(unsigned*);
using NvmlGetHandle = int (*)(unsigned, void**);
using NvmlGetName = int (*)(void*, char*, unsigned);
using NvmlGetMigMode = int (*)(void*, unsigned*, unsigned*);
using NvmlGetVersion = int (*)(char*, unsigned);
constexpr std::size_t kTextBytes = 96;  // NVML_DEVICE_NAME_V2_BUFFER_SIZE

/// Calls a function of a driver's library. Returns -1 if the library has none of that name.
template <typename Function, typename... Arguments>
int call(const SharedLibrary& library, const char* name, Arguments... arguments) {
  const auto function = library.function<Function>(name);
  return function == nullptr ? -1 : function(arguments...);
}

/// Returns whether the call succeeded, and records the first failure.
bool succeeds(const SharedLibrary& library, const char* name, int status, DriverReport& report) {
  if (status == 0) return true;
  report.status = status;
  const char* text = nullptr;
  if (status > 0) call<CuGetErrorString>(library, "cuGetErrorString", status, &text);
  report.status_text = std::string(name) + (text == nullptr ? "" : std::string(": ") + text);
  return false;
}

bool read_device(const SharedLibrary& library, int index, DriverReport& report) {
  int device = 0;
  std::array<char, kTextBytes> name = {};
  int major = 0;
  int minor = 0;
  int mode = 0;
  const auto attribute = [&](int which, int& value) {
    return succeeds(library, "cuDeviceGetAttribute",
                    call<CuDeviceGetAttribute>(library, "cuDeviceGetAttribute", &value, which, device),
                    report);
  };
  if (!succeeds(library, "cuDeviceGet", call<CuDeviceGet>(library, "cuDeviceGet", &device, index), report))
    return false;
  call<CuDeviceGetName>(library, "cuDeviceGetName", name.data(), static_cast<int>(name.size()) - 1, device);
  if (!attribute(kCapabilityMajor, major) || !attribute(kCapabilityMinor, minor) ||
      !attribute(kComputeMode, mode)) {
    return false;
  }
  report.devices.push_back({name.data(), 10 * major + minor, mode == kProhibited});
  return true;
}

void read_cuda(const SharedLibrary& library, DriverReport& report) {
  call<CuGetNumber>(library, "cuDriverGetVersion", &report.cuda_version);
  if (!succeeds(library, "cuInit", call<CuInit>(library, "cuInit", 0U), report)) return;
  int devices = 0;
  if (!succeeds(library, "cuDeviceGetCount", call<CuGetNumber>(library, "cuDeviceGetCount", &devices),
                report))
    return;
  for (int index = 0; index < devices; ++index) {
    if (!read_device(library, index, report)) return;
  }
}

NodeDevice read_node_device(const SharedLibrary& library, unsigned index) {
  void* device = nullptr;
  std::array<char, kTextBytes> name = {};
  unsigned mig = 0;
  unsigned pending = 0;
  if (call<NvmlGetHandle>(library, "nvmlDeviceGetHandleByIndex_v2", index, &device) != 0) return {};
  call<NvmlGetName>(library, "nvmlDeviceGetName", device, name.data(),
                    static_cast<unsigned>(name.size()) - 1);
  // The mode stays 0 on devices that do not know MIG.
  call<NvmlGetMigMode>(library, "nvmlDeviceGetMigMode", device, &mig, &pending);
  return {name.data(), mig == 1};
}

void read_nvml(const SharedLibrary& library, DriverReport& report) {
  if (call<NvmlCall>(library, "nvmlInit_v2") != 0) return;
  std::array<char, kTextBytes> version = {};
  call<NvmlGetVersion>(library, "nvmlSystemGetDriverVersion", version.data(),
                       static_cast<unsigned>(version.size()) - 1);
  report.driver_version = version.data();
  unsigned devices = 0;
  if (call<NvmlGetCount>(library, "nvmlDeviceGetCount_v2", &devices) == 0) {
    report.node_devices.emplace();
    for (unsigned index = 0; index < devices; ++index) {
      report.node_devices->push_back(read_node_device(library, index));
    }
  }
  call<NvmlCall>(library, "nvmlShutdown");
}

}  // namespace

DriverReport read_driver(const DriverSources& sources) {
  DriverReport report;
  std::error_code ignored;
  report.kernel_module = std::filesystem::exists(sources.proc_folder + "/version", ignored);
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) report.visible_devices = visible;
  SharedLibrary cuda(sources.cuda_library);
  if (!cuda) {
    report.load_error = cuda.error();
    return report;
  }
  report.loaded = true;
  read_cuda(cuda, report);
  cuda.keep();  // the driver has started threads
  // NVML is only needed for the reason: it takes a moment, and some containers do not have it.
  if (!driver_problem(report).empty()) {
    if (SharedLibrary nvml(sources.nvml_library); nvml) read_nvml(nvml, report);
  }
  return report;
}

}  // namespace skyline::train
