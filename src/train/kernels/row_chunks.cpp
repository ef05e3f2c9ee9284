#include "train/kernels/row_chunks.hpp"

#include "train/kernels/in_parallel.hpp"
#include "train/kernels/lanes.hpp"

#include <vector>

namespace skyline::train::kernels {
namespace {

SKYLINE_MULTI_TARGET void add_to(double* __restrict__ totals, const float* __restrict__ sums,
                                 std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) totals[i] += static_cast<double>(sums[i]);
}

}  // namespace

void add_chunks(const RowChunks& chunks, std::size_t width, double* totals,
                const std::function<void(std::size_t, std::size_t, float*)>& sum_chunks) {
  const std::size_t count = chunks.count();
  if (threads_for(count, chunks.elements()) == 1) {
    std::vector<float> sums(width);
    for (std::size_t chunk = 0; chunk < count; ++chunk) {
      sum_chunks(chunk, chunk + 1, sums.data());
      add_to(totals, sums.data(), width);
    }
    return;
  }
  std::vector<float> sums(count * width);
  in_parallel(count, chunks.elements(), [&](std::size_t first, std::size_t last) {
    sum_chunks(first, last, sums.data() + first * width);
  });
  for (std::size_t chunk = 0; chunk < count; ++chunk) add_to(totals, sums.data() + chunk * width, width);
}

}  // namespace skyline::train::kernels
