#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace skyline::comm {

/// The bytes of a message, aligned to a cache line; not initialised.
class Parcel {
 public:
  explicit Parcel(std::size_t capacity);
  /// A parcel in memory that somebody else owns and that outlives it.
  explicit Parcel(std::span<std::byte> memory);
  std::span<std::byte> bytes() { return {memory_.get(), size_}; }
  std::span<const std::byte> bytes() const { return {memory_.get(), size_}; }
  std::size_t capacity() const { return capacity_; }
  /// @pre size <= capacity()
  void resize(std::size_t size);

 private:
  struct Free {
    bool owns;
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t capacity_;
  std::size_t size_ = 0;
};

/// A pool of parcels: fresh large blocks from the system cost more than sending them. Any thread; parcels may
/// outlive the pool.
class ParcelPool {
 public:
  /// A parcel of `size` bytes that returns to the pool when nobody holds it.
  std::shared_ptr<Parcel> take(std::size_t size);

 private:
  struct Shelf {
    std::mutex mutex;
    std::vector<std::unique_ptr<Parcel>> parcels;
    std::size_t bytes = 0;
  };
  std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
};

struct Letter {
  int from = 0;
  std::shared_ptr<const Parcel> parcel;
};

/// Messages from rank to rank, on a channel of their own, for threads other than the main one. Nothing is
/// matched: whoever looks gets the next letter. Letters between two ranks arrive in the order of sending. Any
/// thread; only close() waits.
class Mailbox {
 public:
  virtual ~Mailbox() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// A parcel to fill and send, if possible in memory that the node's ranks share, who then read it without a
  /// copy.
  virtual std::shared_ptr<Parcel> take(std::size_t size) = 0;
  /// The mailbox holds the parcel until it is sent; its bytes must not change any more.
  virtual void send(std::shared_ptr<const Parcel> parcel, int to) = 0;
  /// The next letter that has arrived, if any. Drives the progress of all operations.
  virtual std::optional<Letter> receive() = 0;
  /// Bytes of letters that are still being sent, or read in shared memory.
  virtual std::size_t unsent_bytes() const = 0;
  /// Collective: discards incoming letters until none is on its way. Call before destruction, unless the
  /// process ends by an error; no parcel may be left.
  virtual void close() = 0;
};

}  // namespace skyline::comm
