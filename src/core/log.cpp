#include "core/log.hpp"

#include "skyline/core/error.hpp"

#include "core/log_note.hpp"
#include "core/text/foreign_text.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>

namespace skyline::log {
namespace {

using Logger = std::unique_ptr<spdlog::logger>;

// Loggers, not bare sinks: they hand a fault to their error handler instead of throwing into the caller.
struct State {
  std::mutex mutex;
  std::string prefix;
  Level terminal_level = Level::kInfo;
  Logger terminal;
  Logger file;
};

Logger make_logger(std::shared_ptr<spdlog::sinks::sink> sink, const char* pattern) {
  auto logger = std::make_unique<spdlog::logger>("skyline", std::move(sink));
  logger->set_level(spdlog::level::debug);
  logger->flush_on(spdlog::level::debug);
  logger->set_pattern(pattern);
  logger->set_error_handler([](const std::string&) {});  // a terminal that went away
  return logger;
}

// Never destroyed: threads may still write while the program ends. Every line is flushed as it is written.
State& state() {
  static State& instance = *[] {
    auto* fresh = new State;
    fresh->terminal = make_logger(std::make_shared<spdlog::sinks::stderr_color_sink_st>(), "%H:%M:%S %^%v%$");
    return fresh;
  }();
  return instance;
}

spdlog::level::level_enum spdlog_level(Level level) {
  constexpr std::array kLevels{spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                               spdlog::level::err};
  return kLevels.at(static_cast<std::size_t>(level));
}

// Plain information carries no level word: terminal lines stay short.
std::string_view terminal_word(Level level) {
  if (level == Level::kError) return "error: ";
  if (level == Level::kWarning) return "warning: ";
  return {};
}

void check_writable(const std::string& file) {
  errno = 0;
  std::FILE* handle = std::fopen(file.c_str(), "ab");
  if (handle == nullptr) {
    throw UserError(file + ": cannot open the log file for writing: " + system_error_text(errno));
  }
  std::fclose(handle);
}

/// Called while the lock is held, so it writes to the terminal's logger itself.
std::function<void(const std::string&)> tell_once(const std::string& file) {
  return [file, told = false](const std::string& problem) mutable {
    if (std::exchange(told, true)) return;
    state().terminal->log(spdlog::level::warn, std::string(terminal_word(Level::kWarning)) + file +
                                                   ": lines of the log are lost: " + problem);
  };
}

Logger open_file(const std::string& file) {
  check_writable(file);  // spdlog's own message would lack the system's reason in our form
  try {
    Logger logger =
        make_logger(std::make_shared<spdlog::sinks::basic_file_sink_st>(file), "%Y-%m-%d %H:%M:%S.%e %l %v");
    logger->set_error_handler(tell_once(file));
    return logger;
  } catch (const spdlog::spdlog_ex& problem) {
    throw UserError(file + ": cannot open the log file for writing: " + problem.what());
  }
}

}  // namespace

void write(Level level, std::string_view message) {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  const std::string start = log.prefix.empty() ? std::string() : log.prefix + ' ';
  const std::string text = printable(message);
  if (level >= log.terminal_level) {
    log.terminal->log(spdlog_level(level), start + std::string(terminal_word(level)) + text);
  }
  if (log.file) log.file->log(spdlog_level(level), start + text);
}

void note(Level level, std::string_view message) {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  if (log.file) log.file->log(spdlog_level(level), printable(message));
}

void start(const Options& options) {
  Logger file = options.file.empty() ? nullptr : open_file(options.file);
  State& log = state();
  const std::lock_guard lock(log.mutex);
  log.prefix = options.prefix;
  log.terminal_level = options.terminal_level;
  log.file = std::move(file);
}

void stop() {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  log.file.reset();
}

}  // namespace skyline::log
