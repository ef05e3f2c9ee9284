#include "store/hdf5/hdf5_handle.hpp"

#include "skyline/core/error.hpp"

#include <string>

namespace skyline::store {
namespace {

extern "C" herr_t keep_innermost(unsigned depth, const H5E_error2_t* error, void* text) {
  if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

}  // namespace

void fail_hdf5(const char* task, const std::filesystem::path& path) {
  std::string reason = "unknown error";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, &keep_innermost, &reason);
  throw UserError(std::string("cannot ") + task + " " + path.string() + ": HDF5: " + reason);
}

void silence_hdf5() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

}  // namespace skyline::store
