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
  std::size_t failed = count;  // the first part that failed: all before it have begun
  const auto work_off = [&] {
    std::size_t begin = next.fetch_add(size);
    try {
      for (; begin < count; begin = next.fetch_add(size)) work(begin, std::min(count, begin + size));
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (begin >= failed) return;
      failed = begin;
      failure = std::current_exception();
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
