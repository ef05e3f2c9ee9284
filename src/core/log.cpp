#include "core/log.hpp"

#include "skyline/core/error.hpp"

#include "core/background_queue.hpp"
#include "core/log_sink.hpp"
#include "core/system/may_block.hpp"
#include "core/system/open_file.hpp"
#include "core/system/standard_output.hpp"
#include "core/text/foreign_text.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <spdlog/logger.h>
#include <unistd.h>

namespace skyline::log {
namespace {

// Loggers are used instead of bare sinks, because they hand a fault to their error handler and do not throw.
using Logger = std::shared_ptr<spdlog::logger>;

constexpr std::chrono::seconds kLongestEnd{2};
constexpr std::chrono::seconds kLongestFlush{1};
constexpr std::size_t kMostLines = 4096;  // most waiting lines; twice as many for warnings and errors

/// A line that waits to be written, with the time of its origin.
struct Line {
  Level level = Level::kInfo;
  std::string text;
  std::chrono::system_clock::time_point time = std::chrono::system_clock::now();
  bool as_it_is = false;  // bytes for a terminal instead of a line
};

/// Writes lines to a file or a terminal which may hang. add() never waits: lines that do not fit are dropped,
/// debug and information first, and a line of its own gives their number.
class LineWriter {
 public:
  explicit LineWriter(Logger logger) : target_(std::make_shared<Written>(std::move(logger))) {}
  void add(Line line);
  bool flush(std::chrono::milliseconds most) { return queue_.drain_for(most); }
  bool finish(std::chrono::milliseconds most) { return queue_.finish(most); }

 private:
  /// What a write uses; a write that hangs outlives the writer.
  struct Written {
    explicit Written(Logger its_logger) : logger(std::move(its_logger)) {}
    Logger logger;
    std::atomic<std::size_t> dropped = 0;  // lines dropped since the last one that was written
  };
  std::shared_ptr<Written> target_;
  BackgroundQueue queue_{kMostLines};
};

/// A file or a terminal, and the thread that writes to it while there is a Background.
struct LogTarget {
  Logger logger;  // nullptr if there is no file, or if it has stopped taking lines
  std::unique_ptr<LineWriter> writer;
};

struct State {
  std::mutex mutex;
  std::string prefix;
  Level terminal_level = Level::kInfo;
  bool in_background = false;
  LogTarget terminal;
  LogTarget file;
};

Logger make_logger(std::shared_ptr<spdlog::sinks::sink> sink, const char* pattern) {
  auto logger = std::make_shared<spdlog::logger>("skyline", std::move(sink));
  logger->set_level(spdlog::level::debug);
  logger->flush_on(spdlog::level::debug);
  logger->set_pattern(pattern);
  logger->set_error_handler([](const std::string&) {});  // a terminal that went away is ignored
  return logger;
}

// Never destroyed: threads may write while the program ends. Every line is flushed as it is written.
State& state() {
  static State& instance = *[] {
    auto* fresh = new State;
    fresh->terminal.logger = make_logger(DescriptorSink::make_for_stderr(), "%H:%M:%S %^%v%$");
    return fresh;
  }();
  return instance;
}

spdlog::level::level_enum spdlog_level(Level level) {
  constexpr std::array kLevels{spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                               spdlog::level::err};
  return kLevels.at(static_cast<std::size_t>(level));
}

// Information has no level word, so that terminal lines stay short.
std::string_view terminal_word(Level level) {
  if (level == Level::kError) return "error: ";
  if (level == Level::kWarning) return "warning: ";
  return {};
}

void write_line(spdlog::logger& logger, const Line& line) {
  if (line.as_it_is) {
    (void)write_whole(STDERR_FILENO, line.text);  // a terminal that went away is no reason to end
    return;
  }
  logger.log(line.time, spdlog::source_loc{}, spdlog_level(line.level), line.text);
}

void LineWriter::add(Line line) {
  const bool matters = line.level >= Level::kWarning && !line.as_it_is;
  const bool counts = !line.as_it_is;
  const auto write = [target = target_, line = std::move(line)] {
    const std::size_t missing = target->dropped.exchange(0);
    write_line(*target->logger, line);
    if (missing == 0) return;
    write_line(*target->logger,
               {Level::kWarning, std::to_string(missing) + " lines are left out here: they came faster than "
                                                           "they could be written"});
  };
  if (!queue_.try_add(write, matters ? 2 : 1) && counts) ++target_->dropped;
}

void begin_writer(LogTarget& target) {
  if (target.logger != nullptr) target.writer = std::make_unique<LineWriter>(target.logger);
}

/// Ends the thread that writes. A thread that is stuck in a write keeps the logger.
void end_writer(LogTarget& target) {
  if (target.writer != nullptr && !target.writer->finish(kLongestEnd)) target.logger.reset();
  target.writer.reset();
}

/// Gives the line to the writer, or writes it at once if there is none. The caller holds the lock.
void give(LogTarget& target, Line line) {
  if (target.writer != nullptr) return target.writer->add(std::move(line));
  if (target.logger == nullptr) return;
  may_block("write to the log");
  write_line(*target.logger, line);
}

/// Gives a line to the file. Where there is no writer, one writes this line, because a file server may stand
/// still; the file then gets no more lines. The caller holds the lock.
void give_to_file(Line line) {
  LogTarget& file = state().file;
  if (file.writer != nullptr || file.logger == nullptr) return give(file, std::move(line));
  may_block("write to the log");
  begin_writer(file);
  file.writer->add(std::move(line));
  end_writer(file);
  if (file.logger == nullptr)
    give(state().terminal, {Level::kWarning, std::string(terminal_word(Level::kWarning)) +
                                                 "the log file takes no lines: the rest of them are lost"});
}

/// Returns a handler that reports a fault of the file once. The handler is called by the thread that writes
/// to the file: its writer, or one that holds the lock.
std::function<void(const std::string&)> tell_once(const std::string& file) {
  return [file, told = false](const std::string& problem) mutable {
    if (std::exchange(told, true)) return;
    const std::string text =
        std::string(terminal_word(Level::kWarning)) + file + ": lines of the log are lost: " + problem;
    give(state().terminal, {Level::kWarning, text});
  };
}

Logger make_file_logger(const std::string& file) {
  FileDescriptor descriptor = open_own_file(file, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (!descriptor) {
    throw UserError(file + ": cannot open the log file for writing: " + system_error_text(errno));
  }
  Logger logger =
      make_logger(std::make_shared<DescriptorSink>(std::move(descriptor)), "%Y-%m-%d %H:%M:%S.%e %l %v");
  logger->set_error_handler(tell_once(file));
  return logger;
}

}  // namespace

void write(Level level, std::string_view message) {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  const std::string start = log.prefix.empty() ? std::string() : log.prefix + ' ';
  const std::string text = printable(message);
  if (level >= log.terminal_level) {
    give(log.terminal, {level, start + std::string(terminal_word(level)) + text});
  }
  give_to_file({level, start + text});
}

void note(Level level, std::string_view message) {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  give_to_file({level, printable(message)});
}

void draw(std::string_view bytes) {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  give(log.terminal, {.text = std::string(bytes), .as_it_is = true});
}

void start(const Options& options) {
  Logger file = options.file.empty() ? nullptr : make_file_logger(options.file);
  State& log = state();
  const std::lock_guard lock(log.mutex);
  log.prefix = options.prefix;
  log.terminal_level = options.terminal_level;
  end_writer(log.file);
  log.file.logger = std::move(file);
  if (log.in_background) begin_writer(log.file);
}

void stop() {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  end_writer(log.file);
  log.file.logger.reset();
}

void flush() {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  for (const LogTarget* target : {&log.file, &log.terminal}) {
    if (target->writer != nullptr) target->writer->flush(kLongestFlush);
  }
}

Background::Background() {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  require(!std::exchange(log.in_background, true), "the log is in the background already");
  begin_writer(log.terminal);
  begin_writer(log.file);
}

Background::~Background() {
  State& log = state();
  const std::lock_guard lock(log.mutex);
  log.in_background = false;
  end_writer(log.file);
  end_writer(log.terminal);
}

}  // namespace skyline::log
