#pragma once

#include <cstddef>
#include <functional>

namespace skyline::store {

/// Calls work(0), ..., work(count - 1) on several threads, and then the functions that they returned, in this
/// order, one at a time. So the results are the same for any number of threads, and at most one result per
/// thread waits. @throws the first error in this order; everything after it is left out
void work_in_order(std::size_t count, std::size_t threads,
                   const std::function<std::function<void()>(std::size_t number)>& work);

}  // namespace skyline::store
