#pragma once

#include "core/system/open_file.hpp"

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skyline::machine {

/// A number of tokens that the processes of a node share, e.g. parts of its memory. When a process ends, the
/// system releases its tokens. Thread-safe.
class NodeSemaphore {
 public:
  /// Tokens in use; the destructor returns them. It must not outlive the NodeSemaphore that gave it.
  class Hold {
   public:
    Hold(Hold&&) noexcept = default;
    Hold& operator=(Hold&&) = delete;
    ~Hold();

   private:
    friend class NodeSemaphore;
    Hold(NodeSemaphore& tokens, FileDescriptor file) : tokens_(&tokens), file_(std::move(file)) {}
    NodeSemaphore* tokens_;
    FileDescriptor file_;  // the locks belong to this open file
  };

  /// @param name     a name that the processes of the node have agreed on and that no other job uses
  /// @param tokens   number for the node, the same in all its processes
  /// @param holders  most holds of this process at a time
  /// @throws UserError if the empty file for them can be made neither in /dev/shm nor in /tmp
  NodeSemaphore(const std::string& name, std::size_t tokens, std::size_t holders);
  /// Removes the file's name. Call it when all processes of the node have made their objects.
  void remove_name();

  /// Waits for `count` tokens, or for all if `count` is larger. Requests are served roughly in their order,
  /// so that one for many tokens is not overtaken for ever. Returns nullopt if `stop`, which is polled and
  /// must be quick, returned true.
  std::optional<Hold> acquire(std::size_t count, const std::function<bool()>& stop);
  std::size_t tokens() const { return tokens_; }

 private:
  /// Opens the file as often as there are holders. Returns false and sets errno if that fails.
  bool open_files(std::size_t count);
  FileDescriptor free_file();

  std::string path_;
  std::size_t tokens_;
  std::mutex mutex_;
  std::vector<FileDescriptor> files_;  // open files that no holder uses
};

}  // namespace skyline::machine
