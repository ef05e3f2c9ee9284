#include "stand_in.hpp"

#include <cstddef>
#include <cstring>

extern "C" {

std::size_t cublasLtGetVersion() {
  return 130100;
}

int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*, const void*,
                   const void*, void*, void*, void*, const void*, void*, std::size_t, CUstream_st* stream) {
  return stand_in_queue(stream, "cublasLtMatmul");
}

/// Offers one algorithm, which needs no work space.
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int, void* results,
                                   int* count) {
  constexpr std::size_t kBytesOfAlgorithm = 64;
  std::memset(results, 0, kBytesOfAlgorithm);
  *count = 1;
  return 0;
}
}
