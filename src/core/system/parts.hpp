#pragma once

#include <cstddef>
#include <functional>

namespace skyline {

/// Calls work(begin, end) for the parts of [0, count), which have `size` elements each but for the last, on
/// this thread and on up to `threads` - 1 others, and returns when all have ended. Where the system starts no
/// more threads, those that there are do it.
/// @throws what the first part throws that throws something, whatever the threads
void in_parts(std::size_t count, std::size_t size, std::size_t threads,
              const std::function<void(std::size_t begin, std::size_t end)>& work);

}  // namespace skyline
