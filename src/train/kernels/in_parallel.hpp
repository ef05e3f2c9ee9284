#pragma once

#include <cstddef>
#include <functional>

namespace skyline::train::kernels {

/// How many of LibTorch's threads a loop uses: 1 where so little work per thread would not pay.
/// @param count  turns of the loop
/// @param size   elements that a turn computes
std::size_t threads_for(std::size_t count, std::size_t size);

/// Calls work(first, last) for parts of [0, count), by threads_for(count, size) threads. Where the parts
/// begin depends on the number of threads: the result of a turn must not depend on the part that it is in.
void in_parallel(std::size_t count, std::size_t size,
                 const std::function<void(std::size_t first, std::size_t last)>& work);

}  // namespace skyline::train::kernels
