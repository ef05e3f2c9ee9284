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

Parcel::Parcel(std::size_t capacity)
    : memory_(static_cast<std::byte*>(::operator new(capacity, kLine)), Free{true}), capacity_(capacity) {}

Parcel::Parcel(std::span<std::byte> memory)
    : memory_(memory.data(), Free{false}), capacity_(memory.size()), size_(memory.size()) {}

void Parcel::Free::operator()(std::byte* memory) const noexcept {
  if (owns) ::operator delete(memory, kLine);
}

void Parcel::resize(std::size_t size) {
  require(size <= capacity_, "a parcel is too small");
  size_ = size;
}

std::shared_ptr<Parcel> ParcelPool::take(std::size_t size) {
  std::unique_ptr<Parcel> parcel;
  {
    const std::lock_guard lock(shelf_->mutex);
    const auto fits = std::ranges::find_if(shelf_->parcels, [size](const auto& kept) {
      return kept->capacity() >= size && kept->capacity() / 4 <= size;
    });
    if (fits != shelf_->parcels.end()) {
      std::swap(*fits, shelf_->parcels.back());
      parcel = std::move(shelf_->parcels.back());
      shelf_->parcels.pop_back();
      shelf_->bytes -= parcel->capacity();
    }
  }
  if (!parcel) parcel = std::make_unique<Parcel>(std::max<std::size_t>(std::bit_ceil(size), 256));
  parcel->resize(size);
  const auto give_back = [shelf = shelf_](Parcel* done) {
    std::unique_ptr<Parcel> owned(done);
    const std::lock_guard lock(shelf->mutex);
    if (shelf->bytes + owned->capacity() > kMostKeptBytes) return;
    const std::size_t bytes = owned->capacity();
    try {
      shelf->parcels.push_back(std::move(owned));
      shelf->bytes += bytes;
    } catch (const std::bad_alloc&) {  // then it is freed instead
    }
  };
  return {parcel.release(), give_back};
}

}  // namespace skyline::comm
