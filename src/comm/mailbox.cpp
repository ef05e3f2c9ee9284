#include "comm/mailbox.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace skyline::comm {
namespace {

constexpr std::align_val_t kLine{64};
constexpr std::size_t kMostKeptBytes = std::size_t{32} << 20U;

}  // namespace

Buffer::Buffer(std::size_t capacity)
    : memory_(static_cast<std::byte*>(::operator new(capacity, kLine)), Free{true}), capacity_(capacity) {}

Buffer::Buffer(std::span<std::byte> memory)
    : memory_(memory.data(), Free{false}), capacity_(memory.size()), size_(memory.size()) {}

void Buffer::Free::operator()(std::byte* memory) const noexcept {
  if (owns) ::operator delete(memory, kLine);
}

void Buffer::resize(std::size_t size) {
  require(size <= capacity_, "a buffer is too small");
  size_ = size;
}

std::shared_ptr<Buffer> BufferPool::acquire(std::size_t size) {
  std::unique_ptr<Buffer> buffer;
  {
    const std::lock_guard lock(shelf_->mutex);
    const auto fits = std::ranges::find_if(shelf_->buffers, [size](const auto& kept) {
      return kept->capacity() >= size && kept->capacity() / 4 <= size;
    });
    if (fits != shelf_->buffers.end()) {
      std::swap(*fits, shelf_->buffers.back());
      buffer = std::move(shelf_->buffers.back());
      shelf_->buffers.pop_back();
      shelf_->bytes -= buffer->capacity();
    }
  }
  if (!buffer) buffer = std::make_unique<Buffer>(std::max<std::size_t>(std::bit_ceil(size), 256));
  buffer->resize(size);
  const auto give_back = [shelf = shelf_](Buffer* done) {
    std::unique_ptr<Buffer> owned(done);
    const std::lock_guard lock(shelf->mutex);
    if (shelf->bytes + owned->capacity() > kMostKeptBytes) return;
    const std::size_t bytes = owned->capacity();
    try {
      shelf->buffers.push_back(std::move(owned));
      shelf->bytes += bytes;
    } catch (const std::bad_alloc&) {  // without memory for the list, the block is freed instead
    }
  };
  return {buffer.release(), give_back};
}

}  // namespace skyline::comm
