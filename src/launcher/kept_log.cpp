#include "launcher/kept_log.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <unistd.h>

namespace skyline::launcher {

void KeptLog::write_at(std::string_view text, std::uint64_t offset) {
  while (!text.empty()) {
    const ssize_t written = ::pwrite(descriptor_, text.data(), text.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && error_ == 0) error_ = errno;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

void KeptLog::add(std::string_view text) {
  if (total_ < limit_) {
    const std::string_view beginning = text.substr(0, limit_ - total_);
    write_at(beginning, total_);
    total_ += beginning.size();
    text.remove_prefix(beginning.size());
  }
  if (text.empty()) return;
  total_ += text.size();
  has_new_end_ = true;
  text.remove_prefix(text.size() - std::min<std::uint64_t>(text.size(), limit_));
  const std::size_t room = std::min<std::uint64_t>(limit_ - end_.size(), text.size());
  end_.insert(end_.end(), text.begin(), text.begin() + static_cast<std::ptrdiff_t>(room));
  text.remove_prefix(room);
  while (!text.empty()) {
    const std::size_t piece = std::min(text.size(), end_.size() - oldest_);
    std::memcpy(end_.data() + oldest_, text.data(), piece);
    oldest_ = (oldest_ + piece) % end_.size();
    text.remove_prefix(piece);
  }
}

void KeptLog::write_end() {
  has_new_end_ = false;
  std::uint64_t offset = std::min(total_, limit_);
  std::string text;
  if (const std::uint64_t left_out = total_ - offset - end_.size(); left_out > 0) {
    text = "\n[... " + std::to_string(left_out) + " bytes are left out here ...]\n";
  }
  text.append(end_.data() + oldest_, end_.size() - oldest_).append(end_.data(), oldest_);
  write_at(text, offset);
  offset += text.size();
  // An earlier end may have been longer: a file that cannot be cut keeps the rest of it.
  [[maybe_unused]] const int result = ::ftruncate(descriptor_, static_cast<off_t>(offset));
}

}  // namespace skyline::launcher
