#include "train/device/memory_pool.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>

namespace skyline::train {
namespace {

constexpr std::size_t kBlockAlignment = 64;
constexpr std::size_t kSmallestPooled = std::size_t{1} << 14;  // malloc itself keeps smaller ones
constexpr std::size_t kLargest = std::size_t{1} << 39;  // a larger size comes from a mistake in a shape
constexpr std::size_t kHugePage = std::size_t{1} << 21;
constexpr std::size_t kClassesPerOctave = 8;
constexpr std::size_t kClasses = 64 * kClassesPerOctave;
constexpr std::size_t kNotPooled = kClasses;

/// The header of every block that the pool gives out.
struct alignas(kBlockAlignment) Header {
  std::size_t size_class;
  std::size_t bytes;  // size of the whole block with this header
};

struct SizeClass {
  std::size_t index;
  std::size_t bytes;
};

/// Returns the size class: rounds up to an eighth of a power of two.
SizeClass size_class_of(std::size_t bytes) {
  const auto octave = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;
  const std::size_t step = (std::size_t{1} << octave) / kClassesPerOctave;
  const std::size_t steps = (bytes - (std::size_t{1} << octave) + step - 1) / step;
  const std::size_t rounded = (std::size_t{1} << octave) + steps * step;
  return {octave * kClassesPerOctave + steps, rounded};
}

Header* fresh_block(std::size_t bytes, std::size_t size_class) {
  const bool huge = bytes >= kHugePage / 2;
  const std::size_t alignment = huge ? kHugePage : kBlockAlignment;
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  if (huge) {
    madvise(memory, rounded, MADV_HUGEPAGE);  // it is only advice, so a refusal does no harm
  }
  return new (memory) Header{size_class, rounded};
}

class FreeLists {
 public:
  FreeLists() { alive_ = true; }
  ~FreeLists() {
    trim(0);
    alive_ = false;
  }
  FreeLists(const FreeLists&) = delete;
  FreeLists& operator=(const FreeLists&) = delete;

  /// Returns the lists of this thread, or nullptr while it ends; blocks then go back to the system.
  static FreeLists* of_this_thread() {
    thread_local FreeLists lists;
    return alive_ ? &lists : nullptr;
  }

  Header* pop(std::size_t size_class) {
    std::vector<Header*>& list = lists_[size_class];
    if (list.empty()) return nullptr;
    Header* block = list.back();
    list.pop_back();
    bytes_ -= block->bytes;
    return block;
  }

  void keep(Header* block) {
    lists_[block->size_class].push_back(block);
    bytes_ += block->bytes;
  }

  void trim(std::size_t keep) {
    for (std::size_t c = kClasses; c-- > 0 && bytes_ > keep;) {
      while (bytes_ > keep) {
        Header* block = pop(c);
        if (block == nullptr) break;
        std::free(block);
      }
    }
  }

  std::size_t bytes() const { return bytes_; }

 private:
  static thread_local bool alive_;
  std::array<std::vector<Header*>, kClasses> lists_;
  std::size_t bytes_ = 0;
};

thread_local bool FreeLists::alive_ = false;

thread_local TensorBytes bytes_of_thread;

void count(std::int64_t bytes) {
  bytes_of_thread.now += bytes;
  bytes_of_thread.most = std::max(bytes_of_thread.most, bytes_of_thread.now);
}

Header* pop_or_allocate(std::size_t bytes) {
  if (bytes < kSmallestPooled) return fresh_block(bytes, kNotPooled);
  const SizeClass fit = size_class_of(bytes);
  FreeLists* lists = FreeLists::of_this_thread();
  Header* block = lists == nullptr ? nullptr : lists->pop(fit.index);
  return block == nullptr ? fresh_block(fit.bytes, fit.index) : block;
}

void release(void* data) {
  if (data == nullptr) return;
  Header* block = static_cast<Header*>(data) - 1;
  count(-static_cast<std::int64_t>(block->bytes));
  FreeLists* lists = block->size_class == kNotPooled ? nullptr : FreeLists::of_this_thread();
  if (lists == nullptr) {
    std::free(block);
  } else {
    lists->keep(block);
  }
}

class PoolAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &release, c10::Device(c10::DeviceType::CPU)};
    if (bytes > kLargest) throw std::bad_alloc();
    Header* block = pop_or_allocate(bytes + sizeof(Header));
    count(static_cast<std::int64_t>(block->bytes));
    void* data = block + 1;
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &release; }

  void copy_data(void* target, const void* source, std::size_t bytes) const override {
    default_copy_data(target, source, bytes);
  }
};

}  // namespace

void install_memory_pool() {
  static std::once_flag once;
  std::call_once(once, [] {
    // The allocator is never destroyed, because tensors of static objects may live until the end.
    static auto* allocator = new PoolAllocator;
    c10::SetCPUAllocator(allocator);
  });
}

std::size_t pooled_bytes() {
  const FreeLists* lists = FreeLists::of_this_thread();
  return lists == nullptr ? 0 : lists->bytes();
}

void trim_memory_pool(std::size_t keep) {
  if (FreeLists* lists = FreeLists::of_this_thread()) lists->trim(keep);
}

TensorBytes tensor_bytes() {
  return bytes_of_thread;
}

void count_most_anew() {
  bytes_of_thread.most = bytes_of_thread.now;
}

}  // namespace skyline::train
