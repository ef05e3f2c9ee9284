#pragma once

#include "core/system/unique_handle.hpp"

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skyline::machine {

/// A number of tokens that the processes of a node share, e.g. parts of its memory. The system takes back
/// what a process held when it ends. Thread-safe.
class NodeTokens {
 public:
  /// Tokens in use; the destructor returns them. The object that gave them outlives it.
  class Hold {
   public:
    Hold(Hold&&) noexcept = default;
    Hold& operator=(Hold&&) = delete;
    ~Hold();

   private:
    friend class NodeTokens;
    Hold(NodeTokens& tokens, FileDescriptor file) : tokens_(&tokens), file_(std::move(file)) {}
    NodeTokens* tokens_;
    FileDescriptor file_;  // locks belong to the open file
  };

  /// @param name     one that the processes of the node have agreed on, and that no other job uses
  /// @param tokens   of the node, the same for all its processes
  /// @param holders  of this process at a time, at most
  /// @throws UserError if /dev/shm, where an empty file stands for them, cannot be written
  NodeTokens(const std::string& name, std::size_t tokens, std::size_t holders);
  /// Removes the file's name. When all processes of the node have their object.
  void remove_name();

  /// Waits for `count` tokens, at most those that there are. Requests are met roughly in the order of asking,
  /// so that one for many tokens is not overtaken for ever. @return  nothing if `stop` (polled; quick) said
  /// so
  std::optional<Hold> take(std::size_t count, const std::function<bool()>& stop);
  std::size_t tokens() const { return tokens_; }

 private:
  FileDescriptor free_file();

  std::string path_;
  std::size_t tokens_;
  std::mutex mutex_;
  std::vector<FileDescriptor> files_;  // that no holder uses
};

}  // namespace skyline::machine
