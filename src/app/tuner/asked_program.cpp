#include "app/tuner/asked_program.hpp"

#include "skyline/core/error.hpp"

#include "app/tuner/tuner_lines.hpp"
#include "core/backoff.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "evaluate/command/placeholders.hpp"
#include "evaluate/process/error_words.hpp"
#include "evaluate/process/reported_lines.hpp"
#include "evaluate/process/user_program.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <sys/socket.h>

namespace skyline::app {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPauseOfProgram(100);
constexpr double kFarewell_s = 1;        // longest time until the end of a program that is unwanted
constexpr double kEndAfterSocket_s = 5;  // longest time until the end of a program without a socket
constexpr double kLongestStep_s = 1;  // time that counts at once, since this process may have been suspended

/// Returns the plan of the program. To find it may take a file server some time.
evaluate::ProcessPlan plan_of(const Asking& asking) {
  evaluate::Variables variables = evaluate::allowed_variables(evaluate::process_variables(), {});
  variables[asking.variable] = std::to_string(evaluate::kReportDescriptor);
  variables["PYTHONUNBUFFERED"] = "1";  // so that the log of a killed program has all that it printed
  variables["OMP_NUM_THREADS"] = "1";   // the other processors train
  evaluate::ProcessPlan plan = evaluate::plan_program(asking.run, {}, std::move(variables), asking.log);
  plan.socket_type = SOCK_STREAM;
  return plan;
}

}  // namespace

/// The thread's part: the program while it runs.
class AskedProgram::Exchange {
 public:
  explicit Exchange(AskedProgram& owner) : owner_(owner), program_(plan_of(owner.asking_)) {}

  /// Exchanges lines until the program has ended, or is unwanted. @throws as receive()
  void run() {
    std::optional<evaluate::ProcessEnd> end;
    while (true) {
      end = program_.poll();
      program_.collect(output_);
      take_lines();
      write();
      if (end || is_over()) break;
      check_silence();
      program_.wait(kPauseOfProgram, owner_.wake_.get(), is_writing_);
      eventfd_t count = 0;
      (void)::eventfd_read(owner_.wake_.get(), &count);
    }
    if (!end || is_ending()) return;
    throw FaultError(owner_.asking_.subject + " has ended: " + end->reason + ", see " +
                     owner_.asking_.log.string() + evaluate::said_in(owner_.asking_.log, {}));
  }

 private:
  /// The whole lines of a program that were not taken yet.
  class Output final : public evaluate::ReportedLines {
   public:
    Output() : ReportedLines(kLongestTunerLine) {}
    std::vector<std::string> lines_now;

   private:
    void read_line(std::string_view line) override { lines_now.emplace_back(line); }
  };

  /// Takes what was said as answers. @throws UserError
  void take_lines() {
    const std::lock_guard lock(owner_.mutex_);
    for (std::string& line : output_.lines_now) {
      if (owner_.unanswered_ == 0) {
        throw UserError(owner_.asking_.subject + " was asked nothing, and sent " +
                        in_quotes(shortened(line)));
      }
      --owner_.unanswered_;
      owner_.answers_.push_back(std::move(line));
      silent_s_ = 0;
    }
    output_.lines_now.clear();
    if (output_.mistake()) throw UserError(owner_.asking_.subject + ": " + *output_.mistake());
  }

  void write() {
    const std::lock_guard lock(owner_.mutex_);
    const std::size_t sent = program_.send(std::string_view(owner_.unsent_).substr(sent_));
    if (sent > 0) silent_s_ = 0;
    sent_ += sent;
    is_writing_ = sent_ < owner_.unsent_.size() && !has_left();
    if (is_writing_) return;
    owner_.unsent_.clear();
    sent_ = 0;
    if (owner_.is_ending_) program_.end_sending();
  }

  /// Returns whether the program has closed its socket.
  bool has_left() const { return program_.channel() < 0; }

  bool is_ending() {
    const std::lock_guard lock(owner_.mutex_);
    return owner_.is_ending_;
  }

  /// Returns whether the program is unwanted, and has had its time to end.
  bool is_over() {
    const std::lock_guard lock(owner_.mutex_);
    if (!owner_.is_unwanted_) return false;
    if (!unwanted_since_) unwanted_since_ = steady_clock::now();
    return seconds_since(*unwanted_since_) >= kFarewell_s;
  }

  /// @throws FaultError if the program does not do what is expected of it
  void check_silence() {
    const auto now = steady_clock::now();
    const double step_s = std::chrono::duration<double>(now - std::exchange(last_look_, now)).count();
    const std::lock_guard lock(owner_.mutex_);
    const bool is_expected = is_writing_ || owner_.unanswered_ > 0 || has_left();
    silent_s_ = is_expected && !owner_.is_ending_ ? silent_s_ + std::min(step_s, kLongestStep_s) : 0;
    if (has_left() && silent_s_ > kEndAfterSocket_s)
      throw FaultError(owner_.asking_.subject + " has closed its socket, and goes on");
    if (silent_s_ <= owner_.asking_.timeout_s) return;
    throw FaultError(owner_.asking_.subject +
                     (is_writing_ ? " has read nothing for " : " has not answered for ") +
                     seconds_text(owner_.asking_.timeout_s) + " (" + owner_.asking_.timeout_key + "), see " +
                     owner_.asking_.log.string());
  }

  AskedProgram& owner_;
  evaluate::UserProgram program_;
  Output output_;
  std::size_t sent_ = 0;  // bytes of what is unsent
  bool is_writing_ = false;
  double silent_s_ = 0;
  steady_clock::time_point last_look_ = steady_clock::now();
  std::optional<steady_clock::time_point> unwanted_since_;
};

AskedProgram::AskedProgram(Asking asking)
    : asking_(std::move(asking)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { serve(); }) {}

AskedProgram::~AskedProgram() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = is_unwanted_ = true;
  }
  wake();
  thread_.join();
}

void AskedProgram::serve() {
  try {
    Exchange(*this).run();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
}

void AskedProgram::wake() const {
  (void)::eventfd_write(wake_.get(), 1);
}

void AskedProgram::send(const std::string& line, bool is_question) {
  {
    const std::lock_guard lock(mutex_);
    unsent_ += line;
    if (is_question) ++unanswered_;
  }
  wake();
}

std::optional<std::string> AskedProgram::receive() {
  const std::lock_guard lock(mutex_);
  if (!answers_.empty()) {
    std::string answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
  }
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  return std::nullopt;
}

void AskedProgram::end() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  wake();
}

}  // namespace skyline::app
