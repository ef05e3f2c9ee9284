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

/// The place of a buffer in the sender's slots.
struct SlotNotice {
  std::uint64_t slot = 0;
  std::uint64_t size = 0;
};

/// Buffers in memory that the ranks of a node share: what one rank has written, the others read without a
/// copy. Each rank has its own slots, with a count of the users of each. Any thread may use it.
class SharedBuffers {
 public:
  /// Maps the memory of the node's ranks. Ranks that are alone on their node, or cannot open each other's
  /// memory (e.g. in other containers), get no slots. Collective.
  explicit SharedBuffers(MPI_Comm communicator);

  /// Returns a buffer in a free slot. Returns nullptr if there is none, or if sending the bytes is faster.
  std::shared_ptr<Buffer> acquire(std::size_t size);
  /// Lends a buffer of this rank's slots to another rank. Returns nullopt if the buffer is in no slot, or the
  /// rank is on another node.
  std::optional<SlotNotice> lend(const Buffer& buffer, int to);
  /// Opens a buffer that `from` has lent to this rank.
  /// @param notice  the bytes of a SlotNotice
  std::shared_ptr<const Buffer> open(const Buffer& notice, int from);
  /// Returns the bytes of the slots in use, by this rank or others.
  std::size_t used_bytes() const;

  /// Frees the memory. @pre no buffer is left
  void free();
  /// Leaves the memory to the system, for a process that ends while buffers are left.
  void abandon();

 private:
  struct alignas(64) Count {
    std::atomic<std::uint32_t> users;
  };
  struct Slots {
    Count* counts = nullptr;  // nullptr for a rank on another node
    std::byte* memory = nullptr;
  };
  struct Unmap {
    void operator()(std::byte* memory) const noexcept;
  };
  using Segment = std::unique_ptr<std::byte, Unmap>;  // a token, the counts, the memory
  /// Maps one segment of each rank, or none at all if a rank cannot open another's. Collective.
  static std::vector<Segment> map_all(MPI_Comm node, int ranks);
  static Segment map(int descriptor);
  static Slots slots_at(const Segment& segment);
  static std::shared_ptr<Buffer> buffer_in(const Slots& slots, std::size_t slot, std::size_t size);

  std::vector<Segment> segments_;  // segments of the node's ranks
  std::vector<Slots> of_ranks_;    // slots of the communicator's ranks
  Slots own_;
};

}  // namespace skyline::comm
