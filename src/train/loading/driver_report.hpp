#pragma once

#include <optional>
#include <string>
#include <vector>

namespace skyline::train {

/// A GPU that this process may use.
struct DriverDevice {
  std::string name;
  int capability = 0;       // 10 * major + minor, e.g. 90 for 9.0
  bool prohibited = false;  // compute mode Prohibited
};

/// A GPU of the node, whether or not this process may use it.
struct NodeDevice {
  std::string name;
  bool mig = false;
};

/// Answers of the NVIDIA driver about this node, without any CUDA library.
struct DriverReport {
  bool kernel_module = false;  // whether /proc/driver/nvidia/version exists
  bool loaded = false;         // whether libcuda.so.1 is loaded
  std::string load_error;      // message of the dynamic loader, if it is not loaded
  int cuda_version = 0;        // 13000 for 13.0
  int status = 0;              // CUresult of the first call that failed
  std::string status_text;
  std::vector<DriverDevice> devices;
  std::optional<std::string> visible_devices;           // value of CUDA_VISIBLE_DEVICES
  std::string driver_version;                           // e.g. "580.65.06"; empty if unknown
  std::optional<std::vector<NodeDevice>> node_devices;  // answer of NVML; no value if unknown
};

struct DriverSources {
  std::string cuda_library = "libcuda.so.1";
  std::string nvml_library = "libnvidia-ml.so.1";
  std::string proc_folder = "/proc/driver/nvidia";
};

/// Loads the driver's libraries and queries them; creates nothing on a device.
DriverReport read_driver(const DriverSources& sources = {});

/// Says in one line why the node's GPUs cannot be used, and what to do; empty if they can be used. Pure.
std::string driver_problem(const DriverReport& report);

/// Returns whether the node has a GPU that was meant to be used and cannot be: its driver is old, broken or
/// half installed, or the GPU is in a mode that excludes all processes. A GPU that is hidden from the
/// process, by CUDA_VISIBLE_DEVICES or by the limits of its container or job, does not count. Pure.
bool has_unusable_gpu(const DriverReport& report);

}  // namespace skyline::train
