#include "train/loading/driver_report.hpp"

#include "train/loading/shared_library.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <filesystem>

namespace skyline::train {
namespace {

/// What the LibTorch that this is built with needs.
struct Needed {
  int cuda_version = 13000;
  const char* cuda_text = "13.0";
  const char* driver_branch = "580";
  const char* compatible =
      ", or take NVIDIA's cuda-compat-13-0 into the container or LD_LIBRARY_PATH "
      "(data-centre GPUs)";
  int capability = 75;
  const char* capability_text = "7.5";
};

constexpr Needed kCuda13;
constexpr Needed kCuda12{12000, "12.0", "525", "", 70, "7.0"};
constexpr Needed kNeeded = SKYLINE_CUDA_MAJOR == 12 ? kCuda12 : kCuda13;

// A value of CUresult.
constexpr int kStubLibrary = 34;
constexpr int kNoDevice = 100;
constexpr int kSystemNotReady = 802;
constexpr int kDriverMismatch = 803;

std::string load_problem(const DriverReport& report) {
  if (report.kernel_module) {
    return "the NVIDIA kernel driver is loaded, but its library is not found (" + report.load_error +
           "): start the container with GPU support (docker --gpus all, apptainer --nv), or install the "
           "driver's libraries";
  }
  return "no NVIDIA driver (" + report.load_error + ")";
}

std::string version_problem(const DriverReport& report) {
  const int major = report.cuda_version / 1000;
  const int minor = report.cuda_version % 1000 / 10;
  std::string driver = "the NVIDIA driver";
  if (!report.driver_version.empty()) driver += ' ' + report.driver_version;
  return driver + " supports CUDA " + std::to_string(major) + '.' + std::to_string(minor) + ", needed is " +
         kNeeded.cuda_text + ": update the driver to version " + kNeeded.driver_branch + " or newer" +
         kNeeded.compatible;
}

std::string gpus_text(std::size_t devices) {
  return devices == 1 ? "the GPU" : "all " + std::to_string(devices) + " GPUs";
}

/// Says why a working driver offers no GPU: hidden by the environment, by MIG, or there is none.
std::string absence(const DriverReport& report) {
  const bool known = report.node_devices.has_value();
  if (known && report.node_devices->empty()) return "the NVIDIA driver finds no GPU on this node";
  if (report.visible_devices) {
    return "CUDA_VISIBLE_DEVICES='" + *report.visible_devices + "' hides " +
           (known ? gpus_text(report.node_devices->size()) + " of this node" : "every GPU");
  }
  if (known && std::ranges::all_of(*report.node_devices, &NodeDevice::mig)) {
    return gpus_text(report.node_devices->size()) + " of this node (" + report.node_devices->front().name +
           (report.node_devices->size() == 1 ? ") is" : ") are") +
           " in MIG mode without an instance that this process may use: make one (nvidia-smi mig -cgi ... "
           "-C) or leave MIG mode (nvidia-smi -mig 0)";
  }
  if (known)
    return "the NVIDIA driver lets this process use none of the node's GPUs (container or job limits)";
  return "the NVIDIA driver finds no GPU on this node";
}

std::string status_problem(const DriverReport& report) {
  switch (report.status) {
    case kNoDevice:
      return absence(report);
    case kStubLibrary:
      return "the libcuda.so.1 found is the CUDA toolkit's, which serves for linking alone, not a driver: "
             "take its folder out of LD_LIBRARY_PATH";
    case kSystemNotReady:
      return "the GPUs are not ready yet (" + report.status_text + "): is the NVIDIA fabric manager running?";
    case kDriverMismatch:
      return "the NVIDIA kernel driver and its library are of different versions (" + report.status_text +
             "): the driver was updated without a restart";
    default:
      return "the NVIDIA driver does not start: error " + std::to_string(report.status) + " (" +
             report.status_text + ')';
  }
}

std::string device_problem(const DriverDevice& device, std::size_t index) {
  const std::string who = "GPU " + std::to_string(index) + " (" + device.name + ") ";
  if (device.capability < kNeeded.capability) {
    return who + "has compute capability " + std::to_string(device.capability / 10) + '.' +
           std::to_string(device.capability % 10) + ", needed is " + kNeeded.capability_text +
           ": leave it out of CUDA_VISIBLE_DEVICES";
  }
  if (device.prohibited) {
    return who +
           "is in compute mode Prohibited: nvidia-smi -c DEFAULT, or leave it out of CUDA_VISIBLE_DEVICES";
  }
  return {};
}

// Values of cuda.h and nvml.h.
constexpr int kComputeMode = 20;
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;
constexpr int kProhibited = 2;

constexpr std::size_t kTextBytes = 96;  // NVML_DEVICE_NAME_V2_BUFFER_SIZE

/// Calls a function of a driver's library. Returns -1 if the library has none of that name.
/// @param arguments  must have the types in cuda.h or nvml.h, where a device is an int or a void*
template <typename... Arguments>
int call(const SharedLibrary& library, const char* name, Arguments... arguments) {
  const auto function = library.function<int (*)(Arguments...)>(name);
  return function == nullptr ? -1 : function(arguments...);
}

/// Calls a function of the CUDA driver. Returns whether that succeeded, and records the first failure.
template <typename... Arguments>
bool succeeds(const SharedLibrary& library, DriverReport& report, const char* name, Arguments... arguments) {
  report.status = call(library, name, arguments...);
  if (report.status == 0) return true;
  const char* text = nullptr;
  if (report.status > 0) call(library, "cuGetErrorString", report.status, &text);
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
    return succeeds(library, report, "cuDeviceGetAttribute", &value, which, device);
  };
  if (!succeeds(library, report, "cuDeviceGet", &device, index)) return false;
  call(library, "cuDeviceGetName", name.data(), static_cast<int>(name.size()) - 1, device);
  if (!attribute(kCapabilityMajor, major) || !attribute(kCapabilityMinor, minor) ||
      !attribute(kComputeMode, mode)) {
    return false;
  }
  report.devices.push_back({name.data(), 10 * major + minor, mode == kProhibited});
  return true;
}

void read_cuda(const SharedLibrary& library, DriverReport& report) {
  call(library, "cuDriverGetVersion", &report.cuda_version);
  int devices = 0;
  if (!succeeds(library, report, "cuInit", 0U)) return;
  if (!succeeds(library, report, "cuDeviceGetCount", &devices)) return;
  for (int index = 0; index < devices; ++index) {
    if (!read_device(library, index, report)) return;
  }
}

NodeDevice read_node_device(const SharedLibrary& library, unsigned index) {
  void* device = nullptr;
  std::array<char, kTextBytes> name = {};
  unsigned mig = 0;
  unsigned pending = 0;
  if (call(library, "nvmlDeviceGetHandleByIndex_v2", index, &device) != 0) return {};
  call(library, "nvmlDeviceGetName", device, name.data(), static_cast<unsigned>(name.size()) - 1);
  // The mode stays 0 on devices that do not know MIG.
  call(library, "nvmlDeviceGetMigMode", device, &mig, &pending);
  return {name.data(), mig == 1};
}

void read_nvml(const SharedLibrary& library, DriverReport& report) {
  if (call(library, "nvmlInit_v2") != 0) return;
  std::array<char, kTextBytes> version = {};
  call(library, "nvmlSystemGetDriverVersion", version.data(), static_cast<unsigned>(version.size()) - 1);
  report.driver_version = version.data();
  unsigned devices = 0;
  if (call(library, "nvmlDeviceGetCount_v2", &devices) == 0) {
    report.node_devices.emplace();
    for (unsigned index = 0; index < devices; ++index) {
      report.node_devices->push_back(read_node_device(library, index));
    }
  }
  call(library, "nvmlShutdown");
}

}  // namespace

std::string driver_problem(const DriverReport& report) {
  if (!report.loaded) return load_problem(report);
  // The version is checked before the status, because an old driver may also fail to start.
  if (report.cuda_version != 0 && report.cuda_version < kNeeded.cuda_version) return version_problem(report);
  if (report.status != 0) return status_problem(report);
  if (report.devices.empty()) return absence(report);
  for (std::size_t index = 0; index < report.devices.size(); ++index) {
    if (std::string problem = device_problem(report.devices[index], index); !problem.empty()) return problem;
  }
  return {};
}

bool has_unusable_gpu(const DriverReport& report) {
  if (driver_problem(report).empty() || report.visible_devices == "") return false;
  // there is no driver
  if (!report.kernel_module && report.devices.empty() && report.cuda_version == 0) return false;
  const bool old = report.cuda_version != 0 && report.cuda_version < kNeeded.cuda_version;
  if (!report.loaded || old || !report.devices.empty()) return true;
  if (report.status != 0 && report.status != kNoDevice)
    return report.status != kStubLibrary || report.kernel_module;
  // The driver works and offers no GPU: there is none or it is hidden, unless all are in MIG mode.
  return report.node_devices && !report.node_devices->empty() && !report.visible_devices &&
         std::ranges::all_of(*report.node_devices, &NodeDevice::mig);
}

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
