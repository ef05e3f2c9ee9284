#include "machine/node_semaphore.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <unistd.h>

namespace skyline::machine {
namespace {

/// Sets the lock of one byte of an open file, without waiting. Byte i is the lock of token i; the byte after
/// the last one is the lock of the turn to ask.
bool set_lock(const FileDescriptor& file, short type, std::size_t first, std::size_t count = 1) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(first);
  range.l_len = static_cast<off_t>(count);
  return ::fcntl(file.get(), F_OFD_SETLK, &range) == 0;
}

}  // namespace

NodeSemaphore::Hold::~Hold() {
  if (!file_) return;
  set_lock(file_, F_UNLCK, 0, tokens_->tokens_ + 1);
  const std::lock_guard lock(tokens_->mutex_);
  tokens_->files_.push_back(std::move(file_));
}

NodeSemaphore::NodeSemaphore(const std::string& name, std::size_t tokens, std::size_t holders)
    : tokens_(tokens) {
  std::string problem;
  for (const char* folder : {"/dev/shm/", "/tmp/"}) {
    path_ = folder + name;
    if (open_files(holders)) return;
    problem += (problem.empty() ? "" : "; ") + path_ + ": " + system_error_text(errno);
  }
  throw UserError("cannot make the empty file by which processes share a node's memory: " + problem);
}

bool NodeSemaphore::open_files(std::size_t count) {
  while (files_.size() < count) {
    FileDescriptor file(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) break;
    files_.push_back(std::move(file));
  }
  if (files_.size() == count) return true;
  const int error_number = errno;
  files_.clear();
  remove_name();
  errno = error_number;
  return false;
}

void NodeSemaphore::remove_name() {
  ::unlink(path_.c_str());
}

FileDescriptor NodeSemaphore::free_file() {
  const std::lock_guard lock(mutex_);
  require(!files_.empty(), "more threads ask for tokens than was said");
  FileDescriptor file = std::move(files_.back());
  files_.pop_back();
  return file;
}

std::optional<NodeSemaphore::Hold> NodeSemaphore::acquire(std::size_t count,
                                                          const std::function<bool()>& stop) {
  Hold hold(*this, free_file());
  Backoff backoff(std::chrono::milliseconds(1), std::chrono::milliseconds(20));
  while (!set_lock(hold.file_, F_WRLCK, tokens_)) {  // takes the turn, and keeps it until it has all tokens
    if (stop()) return std::nullopt;
    backoff.pause();
  }
  std::vector<bool> own(tokens_, false);
  std::size_t missing = std::min(count, tokens_);
  while (true) {
    for (std::size_t i = 0; i < tokens_ && missing > 0; ++i) {
      if (own[i] || !set_lock(hold.file_, F_WRLCK, i)) continue;
      own[i] = true;
      --missing;
    }
    if (missing == 0) break;
    if (stop()) return std::nullopt;
    backoff.pause();
  }
  set_lock(hold.file_, F_UNLCK, tokens_);
  return hold;
}

}  // namespace skyline::machine
