#pragma once

#include <optional>
#include <string>
#include <vector>

namespace skyline::train {

/// A GPU that this process may use.
struct DriverDevice {
  std::string name;
  int capability = 0;       // 10 * major + minor: 90 for 9.0
  bool prohibited = false;  // compute mode Prohibited
};

/// A GPU of the node, whether or not this process may use it.
struct NodeDevice {
  std::string name;
  bool mig = false;
};

/// Answers of the NVIDIA driver about this node, without any CUDA library.
struct DriverReport {
  bool kernel_module = false;  // /proc/driver/nvidia/version is there
  bool loaded = false;         // libcuda.so.1
  std::string load_error;      // message of the dynamic loader, if not loaded
  int cuda_version = 0;        // 13000 for 13.0
  int status = 0;              // CUresult of the first call that failed
  std::string status_text;
  std::vector<DriverDevice> devices;
  std::optional<std::string> visible_devices;           // CUDA_VISIBLE_DEVICES
  std::string driver_version;                           // "580.65.06"; empty: unknown
  std::optional<std::vector<NodeDevice>> node_devices;  // by NVML; nothing: unknown
};

struct DriverSources {
  std::string cuda_library = "libcuda.so.1";
  std::string nvml_library = "libnvidia-ml.so.1";
  std::string proc_folder = "/proc/driver/nvidia";
};

/// Loads the driver's libraries and queries them; creates nothing on a device.
DriverReport read_driver(const DriverSources& sources = {});

/// Why the node's GPUs cannot be used, in one line with what to do; empty if they can. Pure.
std::string driver_problem(const DriverReport& report);

/// Whether the node has a GPU that was meant to be used and cannot be: its driver is old, broken or half
/// installed, or the GPU in a mode that keeps everybody out. Not one that is hidden from the process, by
/// CUDA_VISIBLE_DEVICES or by the limits of its container or job. Pure.
bool has_unusable_gpu(const DriverReport& report);

}  // namespace skyline::train
