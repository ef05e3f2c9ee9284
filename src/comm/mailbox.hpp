#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace skyline::comm {

/// The bytes of a message, aligned to a cache line; not initialised.
class Buffer {
 public:
  explicit Buffer(std::size_t capacity);
  /// A buffer in memory that somebody else owns and that outlives it.
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

/// A pool of buffers: fresh large blocks from the system cost more than sending them. Any thread; buffers may
/// outlive the pool.
class BufferPool {
 public:
  /// A buffer of `size` bytes that returns to the pool when nobody holds it.
  std::shared_ptr<Buffer> take(std::size_t size);

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

/// Messages from rank to rank, on a channel of their own, for threads other than the main one. Nothing is
/// matched: whoever looks gets the next message. Messages between two ranks arrive in the order of sending.
/// Any thread; only close() waits.
class Mailbox {
 public:
  virtual ~Mailbox() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// A buffer to fill and send, if possible in memory that the node's ranks share, who then read it without a
  /// copy.
  virtual std::shared_ptr<Buffer> take(std::size_t size) = 0;
  /// The mailbox holds the buffer until it is sent; its bytes must not change any more.
  virtual void send(std::shared_ptr<const Buffer> buffer, int to) = 0;
  /// The next message that has arrived, if any. Drives the progress of all operations.
  virtual std::optional<Message> receive() = 0;
  /// Bytes of messages that are still being sent, or read in shared memory.
  virtual std::size_t unsent_bytes() const = 0;
  /// Collective: discards incoming messages until none is on its way. Call before destruction, unless the
  /// process ends by an error; no buffer may be left.
  virtual void close() = 0;
};

}  // namespace skyline::comm
