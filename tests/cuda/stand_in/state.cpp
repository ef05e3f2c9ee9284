#include "state.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include <sys/syscall.h>
#include <unistd.h>

namespace stand_in {
namespace {

constexpr std::size_t kMostDevices = 64;

std::vector<int> read_devices() {
  const auto count = static_cast<int>(stand_in_setting("DEVICES", 1));
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  std::vector<int> devices;
  if (visible == nullptr) {
    for (int device = 0; device < count; ++device) devices.push_back(device);
    return devices;
  }
  std::istringstream list(visible);
  for (std::string entry; std::getline(list, entry, ',');) {
    if (entry.starts_with("MIG-")) return {0};  // a process enumerates one instance alone
    int device = -1;
    if (std::sscanf(entry.c_str(), "%d", &device) != 1 || device < 0 || device >= count) break;
    devices.push_back(device);
  }
  return devices;
}

const std::vector<int>& devices() {
  static const std::vector<int> devices = read_devices();
  return devices;
}

template <typename Map>
void write_map(std::ostream& out, std::string_view name, const Map& map) {
  out << "\"" << name << "\": {";
  const char* separator = "";
  for (const auto& [key, value] : map) {
    out << separator << "\"" << key << "\": " << value;
    separator = ", ";
  }
  out << "}";
}

pid_t first_process = 0;  // the one that made the state; forks of it have used no device

/// Writes the report of this process: STAND_IN_REPORT/PID.json.
void write_report() {
  const char* folder = std::getenv("STAND_IN_REPORT");
  if (folder == nullptr || getpid() != first_process) return;
  const std::lock_guard lock(state().mutex);
  std::ofstream out(std::string(folder) + "/" + std::to_string(getpid()) + ".json");
  out << "{\"violations\": " << state().violations.size() << ", ";
  std::map<int, std::string> contexts;
  for (const auto& [device, call] : state().contexts) contexts[device] = "\"" + call + "\"";
  write_map(out, "contexts", contexts);
  out << ", ";
  write_map(out, "counts", state().counts);
  out << ", ";
  write_map(out, "most_bytes", state().most_bytes);
  out << ", ";
  write_map(out, "eager", state().eager);
  out << ", \"graphs\": [";
  const char* separator = "";
  for (const Work& nodes : state().graphs) {
    out << separator << "{";
    write_map(out, "nodes", nodes);
    out << "}";
    separator = ",\n";
  }
  out << "]}\n";
}

/// Returns the recording that a call of this thread would break, or nullptr. The rule is that of
/// cudaThreadExchangeStreamCaptureMode.
Recording* broken_by_call() {
  if (this_thread().mode == cudaStreamCaptureModeRelaxed) return nullptr;
  const auto forbids = [](const Recording* recording) {
    if (recording->mode == cudaStreamCaptureModeRelaxed) return false;
    const bool is_global =
        recording->mode == cudaStreamCaptureModeGlobal && this_thread().mode == cudaStreamCaptureModeGlobal;
    return is_global || recording->thread == thread_id();
  };
  const auto found = std::ranges::find_if(state().recordings, forbids);
  return found == state().recordings.end() ? nullptr : *found;
}

/// Returns a recording of a stream that waits for the device's legacy stream, or nullptr.
Recording* broken_by_legacy_work(int device) {
  for (Recording* recording : state().recordings) {
    const auto waits = [&](const CUstream_st* stream) {
      return stream->is_blocking && stream->device == device;
    };
    if (std::ranges::any_of(recording->streams, waits)) return recording;
  }
  return nullptr;
}

}  // namespace

State& state() {
  static State& state = []() -> State& {
    first_process = getpid();
    std::atexit(write_report);
    std::at_quick_exit(write_report);
    return *new State;  // never destroyed: threads and destructors use it until the process ends
  }();
  return state;
}

Thread& this_thread() {
  thread_local Thread thread;
  return thread;
}

cudaError_t fail(cudaError_t error) {
  this_thread().last_error = error;
  return error;
}

void use_context(const char* call) {
  state().contexts.emplace(this_thread().device, call);
}

bool is_device_broken() {
  if (this_thread().device == state().broken_device) return true;
  const long after = stand_in_setting("BREAK_AFTER", -1);
  if (after < 0 || this_thread().device != stand_in_setting("BREAK_DEVICE", 0)) return false;
  return state().counts["kernels"] + state().counts["replays"] > after;
}

CUstream_st& stream_of(cudaStream_t handle) {
  static std::array<CUstream_st, kMostDevices> legacy;
  if (handle != nullptr && handle != cudaStreamLegacy && handle != cudaStreamPerThread) return *handle;
  CUstream_st& stream = legacy.at(static_cast<std::size_t>(this_thread().device));
  stream.device = this_thread().device;
  stream.is_blocking = true;
  return stream;
}

bool is_legacy(const CUstream_st& stream) {
  return &stream == &stream_of(nullptr);
}

cudaError_t violate(const std::string& text, cudaError_t error, Recording* recording) {
  stand_in_violation(text.c_str());
  if (recording != nullptr) recording->broken_by = text;
  return fail(error);
}

pid_t thread_id() {
  return static_cast<pid_t>(syscall(SYS_gettid));
}

std::size_t device_memory() {
  constexpr long kMegabytes = 81920;
  return static_cast<std::size_t>(stand_in_setting("MEMORY_MB", kMegabytes)) << 20U;
}

cudaError_t check_call(const char* name) {
  const std::lock_guard lock(state().mutex);
  use_context(name);
  if (is_device_broken()) return fail(cudaErrorIllegalAddress);
  Recording* recording = broken_by_call();
  if (recording == nullptr) return cudaSuccess;
  return violate(std::string(name) + " during a recording", cudaErrorStreamCaptureUnsupported, recording);
}

cudaError_t queue(cudaStream_t handle, const std::string& name) {
  const std::lock_guard lock(state().mutex);
  use_context(name.c_str());
  if (is_device_broken()) return fail(cudaErrorIllegalAddress);
  CUstream_st& stream = stream_of(handle);
  Recording* recording = stream.recording;
  if (stream.is_destroyed) return violate(name + " on a destroyed stream", cudaErrorInvalidResourceHandle);
  if (is_legacy(stream)) {
    if (Recording* broken = broken_by_legacy_work(stream.device)) {
      return violate(name + " on the legacy stream while a blocking stream is recorded",
                     cudaErrorStreamCaptureImplicit, broken);
    }
  }
  if (recording == nullptr) {
    ++state().eager[name];
    return cudaSuccess;
  }
  if (stand_in_setting("BREAK_RECORDING", -1) == stream.device && !recording->nodes.empty()) {
    state().broken_device = stream.device;
    return fail(cudaErrorIllegalAddress);
  }
  if (stand_in_setting("REFUSE_RECORDING", -1) == stream.device) recording->broken_by = "refused as asked";
  if (!recording->broken_by.empty()) return fail(cudaErrorStreamCaptureInvalidated);
  ++recording->nodes[name];
  ++stream.recorded;
  recording->forked.insert(&stream);
  return cudaSuccess;
}

}  // namespace stand_in

using namespace stand_in;

extern "C" {

long stand_in_setting(const char* name, long otherwise) {
  const char* text = std::getenv((std::string("STAND_IN_") + name).c_str());
  return text == nullptr ? otherwise : std::atol(text);
}

int stand_in_devices() {
  return static_cast<int>(devices().size());
}

int stand_in_number_on_node(int device) {
  return devices().at(static_cast<std::size_t>(device));
}

int stand_in_current_device() {
  return this_thread().device;
}

int stand_in_has_context(int device) {
  const std::lock_guard lock(state().mutex);
  return state().contexts.contains(device) ? 1 : 0;
}

int stand_in_queue(cudaStream_t stream, const char* name) {
  stand_in_count("kernels");
  return queue(stream, name);
}

int stand_in_check_call(const char* name) {
  return check_call(name);
}

void stand_in_count(const char* what) {
  const std::lock_guard lock(state().mutex);
  ++state().counts[what];
}

void stand_in_violation(const char* text) {
  const std::lock_guard lock(state().mutex);
  state().violations.emplace_back(text);
  std::fprintf(stderr, "stand-in: violation: %s\n", text);
}

int stand_in_missing(const char* name) {
  stand_in_violation((std::string(name) + " is not in the stand-in").c_str());
  return fail(cudaErrorNotSupported);
}
}
