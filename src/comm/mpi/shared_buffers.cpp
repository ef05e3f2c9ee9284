#include "comm/mpi/shared_buffers.hpp"

#include "skyline/core/error.hpp"

#include "comm/mpi/mpi_communicator.hpp"
#include "core/system/open_file.hpp"
#include "core/text/hash.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace skyline::comm {
namespace {

constexpr std::size_t kSlots = 24;
constexpr std::size_t kSlotBytes = std::size_t{1} << 18U;
constexpr std::size_t kHeaderBytes = 64;
constexpr std::size_t kSegmentBytes = kHeaderBytes + kSlots * (64 + kSlotBytes);
constexpr std::string_view kMemoryName = "/memfd:skyline-messages";  // the name in the system's lists
constexpr std::size_t kLeastBytes = 1024;  // a notice takes as long as sending fewer bytes

/// Returns which ranks of `communicator` the `ranks` of `part` are.
std::vector<int> ranks_in(MPI_Comm communicator, MPI_Comm part, int ranks) {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(communicator, &all), "MPI_Comm_group");
  check_mpi(MPI_Comm_group(part, &some), "MPI_Comm_group");
  std::vector<int> inner(static_cast<std::size_t>(ranks));
  std::iota(inner.begin(), inner.end(), 0);
  std::vector<int> outer(inner.size());
  check_mpi(MPI_Group_translate_ranks(some, ranks, inner.data(), all, outer.data()),
            "MPI_Group_translate_ranks");
  MPI_Group_free(&all);
  MPI_Group_free(&some);
  return outer;
}

/// The address of another process's memory. The memory begins with a token, because the same process number
/// may mean another process in another container.
struct Address {
  int process = 0;
  int descriptor = -1;  // -1 if the process has no memory
  std::uint64_t token = 0;
};

/// Opens the memory. Returns null if it cannot be reached, or is something else.
FileDescriptor open_memory(const Address& address) {
  if (address.descriptor < 0) return {};
  const std::string path =
      "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.descriptor);
  std::array<char, 64> target{};
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  if (length < 0 ||
      !std::string_view(target.data(), static_cast<std::size_t>(length)).starts_with(kMemoryName)) {
    return {};
  }
  return FileDescriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
}

}  // namespace

SharedBuffers::SharedBuffers(MPI_Comm communicator) {
  MPI_Comm raw = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &raw),
            "MPI_Comm_split_type");
  const CommunicatorHandle node(raw);
  int ranks = 0;
  int neighbours = 0;
  check_mpi(MPI_Comm_size(communicator, &ranks), "MPI_Comm_size");
  check_mpi(MPI_Comm_size(node.get(), &neighbours), "MPI_Comm_size");
  of_ranks_.resize(static_cast<std::size_t>(ranks));
  if (neighbours == 1) return;

  segments_ = map_all(node.get(), neighbours);
  if (segments_.empty()) return;
  int own_index = 0;
  check_mpi(MPI_Comm_rank(node.get(), &own_index), "MPI_Comm_rank");
  own_ = slots_at(segments_[static_cast<std::size_t>(own_index)]);
  const std::vector<int> outer = ranks_in(communicator, node.get(), neighbours);
  for (std::size_t neighbour = 0; neighbour < segments_.size(); ++neighbour) {
    of_ranks_[static_cast<std::size_t>(outer[neighbour])] = slots_at(segments_[neighbour]);
  }
}

std::vector<SharedBuffers::Segment> SharedBuffers::map_all(MPI_Comm node, int ranks) {
  // The memory has no name, so it disappears however the ranks end. Only used pages are allocated.
  const FileDescriptor descriptor(memfd_create("skyline-messages", MFD_CLOEXEC));
  const bool created = descriptor && ftruncate(descriptor.get(), kSegmentBytes) == 0;
  const Segment mine = created ? map(descriptor.get()) : nullptr;
  const Address own{getpid(), mine ? descriptor.get() : -1, random_token()};
  if (mine) std::memcpy(mine.get(), &own.token, sizeof(own.token));
  std::vector<Address> addresses(static_cast<std::size_t>(ranks));
  check_mpi(MPI_Allgather(&own, sizeof(Address), MPI_BYTE, addresses.data(), sizeof(Address), MPI_BYTE, node),
            "MPI_Allgather");
  std::vector<Segment> segments;
  for (const Address& address : addresses) {
    const FileDescriptor opened = open_memory(address);
    Segment segment = opened ? map(opened.get()) : nullptr;
    if (segment && std::memcmp(segment.get(), &address.token, sizeof(address.token)) != 0) segment.reset();
    segments.push_back(std::move(segment));
  }
  // After this exchange no rank needs the descriptors.
  const int mapped = std::ranges::all_of(segments, [](const Segment& segment) { return segment != nullptr; });
  int all_mapped = 0;
  check_mpi(MPI_Allreduce(&mapped, &all_mapped, 1, MPI_INT, MPI_MIN, node), "MPI_Allreduce");
  if (all_mapped == 0) segments.clear();
  return segments;
}

void SharedBuffers::Unmap::operator()(std::byte* memory) const noexcept {
  munmap(memory, kSegmentBytes);
}

SharedBuffers::Segment SharedBuffers::map(int descriptor) {
  void* const memory = mmap(nullptr, kSegmentBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return Segment(memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory));
}

void SharedBuffers::free() {
  own_ = {};
  of_ranks_.assign(of_ranks_.size(), {});
  segments_.clear();
}

void SharedBuffers::abandon() {
  for (Segment& segment : segments_) segment.release();
}

SharedBuffers::Slots SharedBuffers::slots_at(const Segment& segment) {
  std::byte* const counts = segment.get() + kHeaderBytes;
  return {reinterpret_cast<Count*>(counts), counts + kSlots * sizeof(Count)};
}

std::shared_ptr<Buffer> SharedBuffers::buffer_in(const Slots& slots, std::size_t slot, std::size_t size) {
  const auto give_back = [count = &slots.counts[slot]](Buffer* buffer) {
    delete buffer;
    count->users.fetch_sub(1, std::memory_order_release);
  };
  return {new Buffer(std::span(slots.memory + slot * kSlotBytes, size)), give_back};
}

std::shared_ptr<Buffer> SharedBuffers::acquire(std::size_t size) {
  if (own_.counts == nullptr || size < kLeastBytes || size > kSlotBytes) return nullptr;
  // Low slots are reused first, because the processor's cache still has them.
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    std::uint32_t users = 0;
    if (own_.counts[slot].users.load(std::memory_order_relaxed) != 0) continue;
    if (!own_.counts[slot].users.compare_exchange_strong(users, 1, std::memory_order_acquire)) continue;
    return buffer_in(own_, slot, size);
  }
  return nullptr;
}

std::optional<SlotNotice> SharedBuffers::lend(const Buffer& buffer, int to) {
  const std::byte* const begin = buffer.bytes().data();
  if (own_.counts == nullptr || of_ranks_[static_cast<std::size_t>(to)].counts == nullptr)
    return std::nullopt;
  if (std::less<>()(begin, own_.memory) || !std::less<>()(begin, own_.memory + kSlots * kSlotBytes)) {
    return std::nullopt;
  }
  const auto slot = static_cast<std::size_t>(begin - own_.memory) / kSlotBytes;
  own_.counts[slot].users.fetch_add(1, std::memory_order_release);
  return SlotNotice{slot, buffer.bytes().size()};
}

std::shared_ptr<const Buffer> SharedBuffers::open(const Buffer& notice, int from) {
  SlotNotice where;
  require(notice.bytes().size() == sizeof(where), "a notice of a slot has a wrong size");
  std::memcpy(&where, notice.bytes().data(), sizeof(where));
  const Slots& slots = of_ranks_[static_cast<std::size_t>(from)];
  require(slots.counts != nullptr && where.slot < kSlots && where.size <= kSlotBytes,
          "a notice names a slot that is not there");
  slots.counts[where.slot].users.load(std::memory_order_acquire);
  return buffer_in(slots, where.slot, where.size);
}

std::size_t SharedBuffers::used_bytes() const {
  if (own_.counts == nullptr) return 0;
  std::size_t used = 0;
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    if (own_.counts[slot].users.load(std::memory_order_relaxed) > 0) used += kSlotBytes;
  }
  return used;
}

}  // namespace skyline::comm
