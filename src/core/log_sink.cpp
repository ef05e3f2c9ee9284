#include "core/log_sink.hpp"

#include "core/system/standard_output.hpp"

#include <cstdio>
#include <string>
#include <utility>

#include <spdlog/details/os.h>
#include <unistd.h>

namespace skyline::log {
namespace {

constexpr std::string_view kPlain = "\033[m";

std::string_view colour_of(spdlog::level::level_enum level) {
  if (level == spdlog::level::err) return "\033[31m\033[1m";   // bold red
  if (level == spdlog::level::warn) return "\033[33m\033[1m";  // bold yellow
  return level == spdlog::level::info ? "\033[32m" : "\033[36m";
}

}  // namespace

DescriptorSink::DescriptorSink(FileDescriptor file) : file_(std::move(file)) {}

std::shared_ptr<DescriptorSink> DescriptorSink::make_for_stderr() {
  std::shared_ptr<DescriptorSink> sink(new DescriptorSink);
  sink->coloured_ = spdlog::details::os::in_terminal(stderr) && spdlog::details::os::is_color_terminal();
  return sink;
}

void DescriptorSink::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t formatted;
  formatter_->format(message, formatted);
  std::string line(formatted.data(), formatted.size());
  if (coloured_) {
    line.insert(message.color_range_end, kPlain);
    line.insert(message.color_range_start, colour_of(message.level));
  }
  const int error = write_whole(file_ ? file_.get() : STDERR_FILENO, line);
  if (error != 0) throw spdlog::spdlog_ex("write", error);
}

}  // namespace skyline::log
