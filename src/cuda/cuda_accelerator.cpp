#include "cuda/cuda_accelerator.hpp"

#include "skyline/core/error.hpp"

#include "cuda/kernels/kernels.hpp"
#include "cuda/nccl/nccl_reducer.hpp"
#include "cuda/streams/check_cuda.hpp"
#include "cuda/streams/cuda_stream.hpp"
#include "cuda/streams/graph_memory.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

namespace skyline::cuda {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

std::string bus_id_of(int index) {
  std::array<char, 32> text{};
  check_cuda(cudaDeviceGetPCIBusId(text.data(), static_cast<int>(text.size()), index),
             "cudaDeviceGetPCIBusId");
  std::string bus_id(text.data());
  std::ranges::transform(bus_id, bus_id.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return bus_id;
}

train::AcceleratorDevice describe(int index) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  train::AcceleratorDevice device;
  device.index = index;
  device.name = properties.name;
  device.bus_id = bus_id_of(index);
  device.memory_bytes = properties.totalGlobalMem;
  device.target = "cuda:" + std::to_string(index);
  int mode = 0;
  check_cuda(cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, index), "cudaDeviceGetAttribute");
  device.exclusive = mode == cudaComputeModeExclusiveProcess;
  return device;
}

c10::DeviceIndex index_of(int device) {
  return static_cast<c10::DeviceIndex>(device);
}

class CudaAccelerator final : public train::Accelerator {
 public:
  explicit CudaAccelerator(std::vector<train::AcceleratorDevice> devices) : devices_(std::move(devices)) {
    at::globalContext().lazyInitDevice(at::kCUDA);
  }

  const std::vector<train::AcceleratorDevice>& devices() const override { return devices_; }

  train::AcceleratorMemory memory(int device) const override {
    const c10::cuda::CUDAGuard guard(index_of(device));
    train::AcceleratorMemory memory;
    check_cuda(cudaMemGetInfo(&memory.free_bytes, &memory.total_bytes), "cudaMemGetInfo");
    const auto amounts = allocator::getDeviceStats(index_of(device));
    memory.allocated_bytes = bytes_of(amounts.allocated_bytes);
    memory.reserved_bytes = bytes_of(amounts.reserved_bytes);
    return memory;
  }

  /// Releases the cached memory of all devices, because the allocator cannot release it for one.
  void release_cached_memory(int device) override {
    const c10::cuda::CUDAGuard guard(index_of(device));  // cudaFree makes a context on the current device
    const auto turn = acquire_recording_turn();
    GraphMemory::let_go();
    if (!GroupUse::any()) allocator::emptyCache();
  }

  std::optional<std::string> fault(int device) override {
    if (const std::optional<std::string> lost = nccl_.reason()) return lost;
    if (const std::optional<std::string> hangs = abort_problem()) return hangs;
    try {
      const c10::cuda::CUDAGuard guard(index_of(device));
      check_usable();
      return std::nullopt;
    } catch (const std::exception& error) {  // a broken device cannot be made current either
      const std::string text = error.what();
      return "GPU " + std::to_string(device) + " (" + devices_.at(static_cast<std::size_t>(device)).bus_id +
             ") has failed: " + text.substr(0, text.find('\n'));
    }
  }

  std::unique_ptr<train::AcceleratorStream> make_stream(int device) override {
    // Makes LibTorch's own waits sleep too, as other slots need the cores. A device that is not used gets no
    // context, which costs memory there.
    drop_cuda_error(cudaInitDevice(device, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid));
    return std::make_unique<CudaStream>(device);
  }

  void gather(const train::kernels::GatherPlan& plan) override {
    check_cuda(launch_gather(plan, c10::cuda::getCurrentCUDAStream()), "the gather kernel");
  }

  void dropout(const train::kernels::DropoutPlan& plan) override {
    check_cuda(launch_dropout(plan, c10::cuda::getCurrentCUDAStream()), "the dropout kernel");
  }

  void batch_norm_forward(const train::kernels::BatchNormPlan& plan) override {
    check_cuda(launch_batch_norm_forward(plan, c10::cuda::getCurrentCUDAStream()), "the batch norm kernel");
  }
  void batch_norm_backward(const train::kernels::BatchNormPlan& plan) override {
    check_cuda(launch_batch_norm_backward(plan, c10::cuda::getCurrentCUDAStream()), "the batch norm kernel");
  }
  void cross_entropy(const train::kernels::CrossEntropyPlan& plan) override {
    check_cuda(launch_cross_entropy(plan, c10::cuda::getCurrentCUDAStream()), "the loss kernel");
  }
  void end_step(const train::kernels::StepEnd& end) override {
    check_cuda(launch_end_step(end, c10::cuda::getCurrentCUDAStream()), "the kernel at a step's end");
  }

  std::unique_ptr<train::DeviceReducer> make_reducer(trial::TrialGroup& group, int device) override {
    return make_nccl_reducer(group, devices_.at(static_cast<std::size_t>(device)), idle_, nccl_);
  }

 private:
  std::vector<train::AcceleratorDevice> devices_;
  NcclFault nccl_;
  IdleConnections idle_;
};

}  // namespace

std::shared_ptr<train::Accelerator> make_cuda_accelerator(std::string& reason) {
  int count = 0;  // stays 0 if the call fails
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    reason =
        status == cudaSuccess ? "CUDA finds no device" : std::string("CUDA: ") + cudaGetErrorString(status);
    drop_cuda_error(status);
    return nullptr;
  }
  try {
    std::vector<train::AcceleratorDevice> devices;
    for (int index = 0; index < count; ++index) devices.push_back(describe(index));
    return std::make_shared<CudaAccelerator>(std::move(devices));
  } catch (const std::exception& error) {
    const std::string text = error.what();
    reason = text.substr(0, text.find('\n'));
    return nullptr;
  }
}

}  // namespace skyline::cuda
