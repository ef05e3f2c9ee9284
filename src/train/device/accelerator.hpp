#pragma once

#include "skyline/trial/trial_group.hpp"

#include "train/kernels/device_kernels.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace at {
class Tensor;
}

namespace skyline::train {

/// A device for training, as the system describes it.
struct AcceleratorDevice {
  int index = 0;       // the process' number for it, after CUDA_VISIBLE_DEVICES
  std::string name;    // e.g. "NVIDIA H100 80GB HBM3"
  std::string bus_id;  // e.g. "0000:1b:00.0", lower case; empty if unknown
  std::size_t memory_bytes = 0;
  std::string target;      // LibTorch's name, e.g. "cuda:0"
  bool exclusive = false;  // compute mode Exclusive_Process: no second process can use it
};

struct AcceleratorMemory {
  std::size_t free_bytes = 0;       // free on the device, for any process
  std::size_t total_bytes = 0;      // size of the device's memory
  std::size_t allocated_bytes = 0;  // used by tensors of this process
  std::size_t reserved_bytes = 0;   // held by this process' allocator, allocated_bytes included
};

/// Recorded work of a stream. It must be destroyed before its stream; destruction frees its memory.
class AcceleratorGraph {
 public:
  virtual ~AcceleratorGraph() = default;
  /// Queues the recorded work once more, on the same addresses.
  virtual void replay() = 0;
};

/// A separate queue of device work, used by one thread. `run` and `capture` send tensor operations to it.
class AcceleratorStream {
 public:
  virtual ~AcceleratorStream() = default;
  /// Calls `work` with the stream current.
  virtual void run(const std::function<void()>& work) = 0;
  /// Calls `work` once and records it instead of executing it. `work` must have been run before, so that
  /// handles exist and algorithms are chosen. It must not synchronize, nor decide on the host by device
  /// values. Memory that it allocates is scratch memory of all graphs of the stream, so results must go to
  /// tensors made before. Captures of a process take turns. If it throws, the stream can still be used.
  /// @throws UserError if the device refuses, c10::OutOfMemoryError if it lacks the memory, FaultError if it
  ///         is broken
  virtual std::unique_ptr<AcceleratorGraph> capture(const std::function<void()>& work) = 0;
  /// Waits, sleeping, until all queued work is done. @throws FaultError with the device's error
  virtual void wait() = 0;
};

/// Sums and gathers values over the members of a group on their devices. Tensors are float32, one-dimensional
/// and contiguous; in the host's memory all_reduce takes float64 too, and then waits. Every member calls in
/// the same order, from the thread that made the reducer. An operation is queued after the current stream's
/// work and runs beside later work: until join() its tensors must be neither touched nor freed. Waits for the
/// current stream throw GroupAborted if a member is lost or an operation is overdue. A recording joins the
/// operations that it has queued; graphs with operations must be destroyed before the reducer.
class DeviceReducer {
 public:
  virtual ~DeviceReducer() = default;
  virtual void all_reduce(at::Tensor& values) = 0;
  /// Sums over the members; each gets its part. `values` consists of equal parts, one per member
  /// (trial::shard_of()).
  /// @param values  undefined afterwards
  /// @param part    out: the member's own part of the sum
  virtual void reduce_scatter(at::Tensor& values, at::Tensor& part) = 0;
  virtual void all_gather(const at::Tensor& part, at::Tensor& values) = 0;
  /// Continues operations in which the host takes part; never waits.
  virtual void progress() {}
  /// Makes the current stream wait for all operations except the last `but_last`.
  virtual void join(std::size_t but_last = 0) = 0;
  /// Returns whether its operations may be recorded; the same for all members.
  virtual bool may_be_recorded() const { return true; }
};

/// The devices of a process: the seam between training on a device, which is plain LibTorch, and code that
/// needs CUDA or NCCL. The `cuda` library implements it, and so does a stand-in on the CPU, with which
/// everything else is tested without a GPU. Any thread may use it; it must outlive all objects that it makes.
class Accelerator : public kernels::DeviceKernels {
 public:
  virtual const std::vector<AcceleratorDevice>& devices() const = 0;
  virtual AcceleratorMemory memory(int device) const = 0;
  /// Returns cached memory that no tensor uses to the device. Does nothing while members of groups use the
  /// device, because it could then wait for other processes.
  virtual void release_cached_memory(int device) = 0;
  /// Says in one line why the device is unusable until the process is restarted; nullopt if it is usable.
  virtual std::optional<std::string> fault(int /*device*/) { return std::nullopt; }
  virtual std::unique_ptr<AcceleratorStream> make_stream(int device) = 0;
  /// Makes a reducer that sums on the devices. The group must outlive it. Collective over the group.
  /// Returns nullptr on all members if two of them use one GPU: see make_staged_reducer
  virtual std::unique_ptr<DeviceReducer> make_reducer(trial::TrialGroup& group, int device) = 0;
};

/// The device on which an evaluator trains.
struct DeviceUse {
  std::shared_ptr<Accelerator> accelerator;  // nullptr for the CPU
  int device = 0;                            // index of the accelerator's device
  bool on_gpus = false;                      // whether all ranks that train use GPUs
  std::vector<int> processors = {};  // processors of this rank near the device; empty if they did not change
};

}  // namespace skyline::train
