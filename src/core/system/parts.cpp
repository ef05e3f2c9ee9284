#include "core/system/parts.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace skyline {

void in_parts(std::size_t count, std::size_t size, std::size_t threads,
              const std::function<void(std::size_t begin, std::size_t end)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work_off = [&] {
    try {
      for (std::size_t begin = next.fetch_add(size); begin < count; begin = next.fetch_add(size))
        work(begin, std::min(count, begin + size));
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
      next = count;
    }
  };
  {
    const std::size_t parts = (count + size - 1) / size;
    std::vector<std::jthread> others;
    try {
      for (std::size_t i = 1; i < std::min(threads, parts); ++i) others.emplace_back(work_off);
    } catch (const std::system_error&) {
    }
    work_off();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace skyline
