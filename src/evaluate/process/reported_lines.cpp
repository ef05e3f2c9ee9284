#include "evaluate/process/reported_lines.hpp"

#include <utility>

namespace skyline::evaluate {

void ReportedLines::feed(std::string_view bytes, ReportChannel channel) {
  std::string& pending = pending_[static_cast<std::size_t>(channel)];
  while (!bytes.empty() && !mistake_) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (pending.size() + part.size() > longest_) {
      ++lines_;
      fail("it is longer than " + std::to_string(longest_) + " bytes");
      break;
    }
    pending += part;
    if (end == std::string_view::npos) return;
    handle_line(pending);
    bytes.remove_prefix(end + 1);
  }
}

void ReportedLines::handle_line(std::string& line) {
  ++lines_;
  if (line.find_first_not_of(" \t\r") != std::string::npos) read_line(line);
  line.clear();
}

void ReportedLines::read_rest() {
  for (std::string& pending : pending_) {
    if (!mistake_ && !pending.empty()) handle_line(pending);
  }
}

void ReportedLines::refuse(std::string mistake) {
  if (!mistake_) mistake_ = std::move(mistake);
}

}  // namespace skyline::evaluate
