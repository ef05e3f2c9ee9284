// A cuda module of another build.

#include "train/accelerator_library.hpp"

namespace skyline::train {
namespace {

std::shared_ptr<Accelerator> refuse(const AcceleratorHost& /*host*/, std::string& /*reason*/) {
  return nullptr;
}

constexpr AcceleratorLibrary kLibrary = {"another interface", &refuse};

}  // namespace

extern "C" const AcceleratorLibrary* skyline_accelerator_library() {
  return &kLibrary;
}

}  // namespace skyline::train
