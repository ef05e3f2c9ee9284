#include "stand_in.hpp"

#include <cstddef>

// The handles of cuBLAS; all that computes is generated.

extern "C" {

int cublasCreate_v2(StandInHandle** handle) {
  *handle = new StandInHandle;
  return stand_in_check_call("cublasCreate");
}

int cublasDestroy_v2(StandInHandle* handle) {
  delete handle;
  return 0;
}

int cublasSetStream_v2(StandInHandle* handle, CUstream_st* stream) {
  handle->stream = stream;
  return 0;
}

int cublasSetWorkspace_v2(StandInHandle*, void*, std::size_t) {
  return 0;
}

int cublasGetMathMode(StandInHandle*, int* mode) {
  *mode = 0;
  return 0;
}

int cublasSetMathMode(StandInHandle*, int) {
  return 0;
}

int cublasGetPointerMode_v2(StandInHandle*, int* mode) {
  *mode = 0;
  return 0;
}

int cublasSetPointerMode_v2(StandInHandle*, int) {
  return 0;
}
}
