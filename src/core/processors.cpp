#include "core/processors.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <sched.h>

namespace skyline {
namespace {

// A set of processors, sized at run time: the fixed cpu_set_t ends at 1024 processors.
class ProcessorSet {
 public:
  explicit ProcessorSet(int capacity)
      : capacity_(capacity), set_(CPU_ALLOC(static_cast<std::size_t>(capacity))) {
    require(set_ != nullptr, "out of memory for a processor set");
    CPU_ZERO_S(bytes(), set_.get());
  }
  int capacity() const { return capacity_; }
  std::size_t bytes() const { return CPU_ALLOC_SIZE(static_cast<std::size_t>(capacity_)); }
  cpu_set_t* get() { return set_.get(); }
  bool has(int processor) const {
    return CPU_ISSET_S(static_cast<std::size_t>(processor), bytes(), set_.get()) != 0;
  }
  void add(int processor) { CPU_SET_S(static_cast<std::size_t>(processor), bytes(), set_.get()); }

 private:
  struct Free {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  int capacity_;
  std::unique_ptr<cpu_set_t, Free> set_;
};

}  // namespace

std::vector<int> allowed_processors() {
  constexpr int kLargest = 1 << 20;
  for (int capacity = 1024; capacity <= kLargest; capacity *= 4) {
    ProcessorSet set(capacity);
    if (sched_getaffinity(0, set.bytes(), set.get()) != 0) {
      require(errno == EINVAL, "sched_getaffinity failed");  // EINVAL: the kernel's mask is longer
      continue;
    }
    std::vector<int> processors;
    for (int processor = 0; processor < capacity; ++processor) {
      if (set.has(processor)) processors.push_back(processor);
    }
    return processors;
  }
  throw InternalError("the kernel's processor mask is longer than a million");
}

bool bind_this_thread(int processor) {
  return bind_this_thread(std::vector<int>{processor});
}

bool bind_this_thread(const std::vector<int>& processors) {
  if (processors.empty() || std::ranges::min(processors) < 0) return false;
  ProcessorSet set(std::ranges::max(processors) + 1);
  for (const int processor : processors) set.add(processor);
  return sched_setaffinity(0, set.bytes(), set.get()) == 0;
}

}  // namespace skyline
