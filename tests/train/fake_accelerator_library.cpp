// A cuda module of another build.

#include "train/loading/load_accelerator.hpp"

namespace skyline::train {
namespace {

std::shared_ptr<Accelerator> refuse(const AcceleratorHost& /*host*/, std::string& /*reason*/) {
  return nullptr;
}

std::string versions() {
  return "nothing";
}

constexpr AcceleratorLibrary kLibrary = {"another interface", &refuse, &versions};

}  // namespace

extern "C" const AcceleratorLibrary* skyline_accelerator_library() {
  return &kLibrary;
}

}  // namespace skyline::train
