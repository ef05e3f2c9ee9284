#pragma once

#include "comm/mailbox.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <mpi.h>

namespace skyline::comm {

/// Says where a buffer lies in the sender's slots.
struct SlotNotice {
  std::uint64_t slot = 0;
  std::uint64_t size = 0;
};

/// Buffers in memory that the ranks of a node share: the others read without a copy what one has written.
/// Each rank has its own slots, with a count of the users of each. Any thread.
class SharedBuffers {
 public:
  /// Collective. Ranks that are alone on their node, or cannot open each other's memory (in other containers,
  /// say), get no slots.
  explicit SharedBuffers(MPI_Comm communicator);

  /// A buffer in a free slot; nothing if there is none, or if sending the bytes is faster.
  std::shared_ptr<Buffer> take(std::size_t size);
  /// Lends a buffer that lies in a slot of ours; nothing if it lies elsewhere, or the rank is of another
  /// node.
  std::optional<SlotNotice> lend(const Buffer& buffer, int to);
  /// Opens a buffer that `from` has lent to this rank. @param notice  the bytes of a SlotNotice
  std::shared_ptr<const Buffer> open(const Buffer& notice, int from);
  /// Bytes of the slots in use, by this rank or others.
  std::size_t used_bytes() const;

  /// Frees the memory. @pre no buffer is left
  void free();
  /// Leaves the memory to the system; for a process that ends while buffers are left.
  void abandon();

 private:
  struct alignas(64) Count {
    std::atomic<std::uint32_t> users;
  };
  struct Slots {
    Count* counts = nullptr;  // nothing: on another node
    std::byte* memory = nullptr;
  };
  struct Unmap {
    void operator()(std::byte* memory) const noexcept;
  };
  using Segment = std::unique_ptr<std::byte, Unmap>;  // token, counts, memory
  /// Collective: maps one segment of each rank; none at all if a rank cannot open another's.
  static std::vector<Segment> map_all(MPI_Comm node, int ranks);
  static Segment map(int descriptor);
  static Slots slots_at(const Segment& segment);
  static std::shared_ptr<Buffer> buffer_in(const Slots& slots, std::size_t slot, std::size_t size);

  std::vector<Segment> segments_;  // of the node's ranks
  std::vector<Slots> of_ranks_;    // of the communicator
  Slots own_;
};

}  // namespace skyline::comm
