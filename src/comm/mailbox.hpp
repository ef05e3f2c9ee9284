#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace skyline::comm {

/// The bytes of a message, aligned to a cache line. They are not initialised.
class Buffer {
 public:
  explicit Buffer(std::size_t capacity);
  /// Makes a buffer on memory that somebody else owns and that must outlive it.
  explicit Buffer(std::span<std::byte> memory);
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

/// A pool of buffers. It exists because fresh large blocks from the system cost more than sending them. Any
/// thread may use it; buffers may outlive the pool.
class BufferPool {
 public:
  /// Returns a buffer of `size` bytes. It returns to the pool when nobody holds it any more.
  std::shared_ptr<Buffer> acquire(std::size_t size);

 private:
  struct Shelf {
    std::mutex mutex;
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::size_t bytes = 0;
  };
  std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
};

struct Message {
  int from = 0;
  std::shared_ptr<const Buffer> buffer;
};

/// Messages from rank to rank, on their own channel, for threads other than the main thread. Any receiver
/// gets the next message; there are no tags. Messages between two ranks arrive in the order of sending. Any
/// thread may use it. Only close() waits.
class Mailbox {
 public:
  virtual ~Mailbox() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Returns a buffer to fill and send. If possible it is in memory that the ranks of the node share, so that
  /// they read it without a copy.
  virtual std::shared_ptr<Buffer> acquire(std::size_t size) = 0;
  /// Sends the buffer, whose bytes must not change any more. The mailbox holds it until it is sent.
  virtual void send(std::shared_ptr<const Buffer> buffer, int to) = 0;
  /// Returns the next message that has arrived, if any. Drives the progress of all operations.
  virtual std::optional<Message> receive() = 0;
  /// Returns the bytes of messages that are still being sent, or read in shared memory.
  virtual std::size_t unsent_bytes() const = 0;
  /// Discards incoming messages until none is on its way. Call it before destruction, unless the process ends
  /// by an error; no buffer may be left. Collective.
  virtual void close() = 0;
};

}  // namespace skyline::comm
