#pragma once

#include "core/system/open_file.hpp"

#include <memory>

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>

namespace skyline::log {

/// Writes lines to a descriptor. It does not use stdio: a thread that is stuck in a write would hold the
/// stream's lock, and exit() waits for that lock. Faults go to the logger's error handler.
class DescriptorSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit DescriptorSink(FileDescriptor file);
  /// Makes the sink of the terminal, with colours for the levels if the terminal shows them.
  static std::shared_ptr<DescriptorSink> make_for_stderr();

 private:
  DescriptorSink() = default;
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

  FileDescriptor file_;  // null for standard error
  bool coloured_ = false;
};

}  // namespace skyline::log
