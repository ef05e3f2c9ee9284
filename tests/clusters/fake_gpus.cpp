// A cuda module whose devices are those of the node's FAKE_DEVICES that CUDA_VISIBLE_DEVICES names, as a
// batch system sets it: bindings are real, training is not.

#include "support/listed_devices.hpp"
#include "train/loading/load_accelerator.hpp"
#include "train/loading/shared_library.hpp"

#include <cstdlib>
#include <sstream>
#include <string>

namespace skyline::train {
namespace {

std::vector<int> visible_devices() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  const char* const all = std::getenv("FAKE_DEVICES");
  const int count = all == nullptr ? 0 : std::atoi(all);
  std::vector<int> devices;
  if (visible == nullptr) {
    for (int device = 0; device < count; ++device) devices.push_back(device);
    return devices;
  }
  std::istringstream words{visible};
  for (std::string word; std::getline(words, word, ',');) {
    const int device = std::atoi(word.c_str());
    if (device >= count) break;  // the driver's rule: no device after this one is seen either
    devices.push_back(device);
  }
  return devices;
}

std::shared_ptr<Accelerator> open_listed(const AcceleratorHost& /*host*/, std::string& reason) {
  std::vector<AcceleratorDevice> devices;
  for (const int device : visible_devices()) {
    devices.push_back(testing::listed_device(device, static_cast<int>(devices.size())));
  }
  if (devices.empty()) {
    reason = "no device is visible";
    return nullptr;
  }
  return std::make_shared<testing::ListedDevices>(std::move(devices));
}

std::string versions() {
  return "CUDA 13.0, NCCL of a test";
}

constexpr AcceleratorLibrary kLibrary = {kModuleInterface, &open_listed, &versions};

}  // namespace

extern "C" const AcceleratorLibrary* skyline_accelerator_library() {
  return &kLibrary;
}

}  // namespace skyline::train
