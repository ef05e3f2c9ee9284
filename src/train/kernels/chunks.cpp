#include "train/kernels/chunks.hpp"

#include "train/kernels/lanes.hpp"

#include <cstdint>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>

namespace skyline::train::kernels {
namespace {

/// With fewer elements waking a thread costs more than it gains; ATen's own loops use the same number.
constexpr std::size_t kLeastElements = 32768;

std::size_t least_turns(std::size_t size) {
  return std::max<std::size_t>(1, kLeastElements / std::max<std::size_t>(size, 1));
}

SKYLINE_MULTI_TARGET void add_to(double* __restrict__ totals, const float* __restrict__ sums,
                                 std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) totals[i] += static_cast<double>(sums[i]);
}

}  // namespace

std::size_t threads_for(std::size_t count, std::size_t size) {
  const std::size_t least = least_turns(size);
  if (count <= least || at::in_parallel_region()) return 1;
  return std::min(static_cast<std::size_t>(at::get_num_threads()), (count + least - 1) / least);
}

/// Runs the loop on LibTorch's threads by using a loop over a tensor's elements. at::parallel_for would be
/// compiled into this library, with a second pool of threads.
void in_parallel(std::size_t count, std::size_t size,
                 const std::function<void(std::size_t, std::size_t)>& work) {
  if (threads_for(count, size) == 1) {
    work(0, count);
    return;
  }
  const at::Tensor turns = at::empty({static_cast<std::int64_t>(count)}, at::kByte);
  const auto* const base = static_cast<const char*>(turns.const_data_ptr());
  at::TensorIterator loop = at::TensorIterator::borrowing_nullary_op(turns);
  loop.for_each(
      [&](char** data, const std::int64_t* /*strides*/, std::int64_t part) {
        const auto first = static_cast<std::size_t>(data[0] - base);
        work(first, first + static_cast<std::size_t>(part));
      },
      static_cast<std::int64_t>(least_turns(size)));
}

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
