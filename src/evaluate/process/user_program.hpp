#pragma once

#include "skyline/trial/trial.hpp"

#include "core/system/open_file.hpp"
#include "core/system/process_tree.hpp"
#include "evaluate/process/launcher_start.hpp"
#include "evaluate/process/process_plan.hpp"
#include "launcher/launch_protocol.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace skyline::evaluate {

class ReportedLines;

/// The descriptor on which a program reports, if its plan has a report file.
constexpr int kReportDescriptor = launcher::kProgramReportDescriptor;

/// How a process ended.
struct ProcessEnd {
  enum class Kind : std::uint8_t {
    kExited,         // `value` is the exit code
    kSignaled,       // `value` is the signal, whoever sent it: kill(), another process, the kernel; also if a
                     // shell or a wrapper says by its exit code that its program ended so
    kOutOfMemory,    // the kernel ended it for lack of memory, or it had more than its limit
    kManyProcesses,  // it had more processes and threads than its limit
    kTimedOut,       // watch() stopped it after `timeout_s`
    kNotStarted,     // `value` is the system's error number
    kLost,           // the launcher failed, so that nobody knows how the process ended
  };
  Kind kind = Kind::kLost;
  int value = 0;
  std::string reason =
      {};             // one line for a person: "exit code 3", "signal SIGKILL", "more than 4 GiB of memory"
  int log_error = 0;  // the system's error number of a log that lacks text since a write failed
  pid_t process = 0;  // its number; 0 if it was never started

  /// Returns whether the program has ended with exit code 0.
  bool is_good() const { return kind == Kind::kExited && value == 0; }
  /// Returns whether the program has ended itself, so that its log may say why.
  bool is_own() const;
};

/// Returns the failure of a trial whose program ended like this.
trial::Failure failure_of(const ProcessEnd& end);

/// A program of the user, and everything that it starts, behind a launcher (src/launcher) that ends all of it
/// when the program has ended, when this object asks for it or is gone, or when this process is gone. The
/// only place in Skyline that starts processes. Only the thread that made the object uses it; several threads
/// may have one each.
///
/// This process becomes the one that adopts orphans (PR_SET_CHILD_SUBREAPER), so that it finds what a
/// launcher that was killed has left. It waits for its own launchers and what they left, never for other
/// children.
class UserProgram {
 public:
  /// Starts the program. Returns before the program runs: a program that cannot be started is an end.
  /// @throws UserError if there is no launcher, or the log or the report file is something else than a file
  /// @throws FaultError if the system refuses: too many processes or open files, no memory, a full disk
  /// @param start  starts the launcher: start_launcher, or a server that forks
  explicit UserProgram(const ProcessPlan& plan, const LauncherStart& start = start_launcher);
  /// Ends everything with SIGKILL and waits until it is gone, at most some seconds. What is left then is
  /// named in the log.
  ~UserProgram();
  UserProgram(const UserProgram&) = delete;
  UserProgram& operator=(const UserProgram&) = delete;

  /// Returns whether the program runs, or ran. Changes in poll().
  bool has_started() const { return program_ != 0; }
  /// Returns how the program ended, once it and all that it started are gone. Never waits for the program; if
  /// its launcher has failed, it ends what is left, which takes some milliseconds, at most some seconds.
  std::optional<ProcessEnd> poll();
  /// Gives the reader what the program has reported since the last call, at most some hundred KiB. After
  /// poll() has returned an end, one call gives all the rest. A report file that was replaced by something
  /// else becomes the reader's mistake. Never waits for the program, which in turn waits while nobody
  /// collects.
  void collect(ReportedLines& reader);
  /// Waits until poll() or collect() may have something new, at most this long. What is not collected ends
  /// the wait at once, the end of the pipe with it.
  /// @param waker    descriptor that ends the wait as well when it can be read, or -1
  /// @param may_send whether room for send() ends it
  void wait(std::chrono::milliseconds most, int waker = -1, bool may_send = false) const;
  /// Waits for the end, and collects meanwhile. Stops the program once: when it must end, or after
  /// `timeout_s`.
  /// @param reader    nullptr for a program without reports
  /// @param must_end  is asked after each look, several times a second, but not after the end
  ProcessEnd watch(ReportedLines* reader, const std::function<bool()>& must_end);

  /// Sends bytes over the socket. Returns how many it takes now; none after its end.
  std::size_t send(std::string_view bytes);
  /// Tells the program that nothing more is sent.
  void end_sending();
  /// Returns the descriptor of the socket or the pipe; -1 once it has ended.
  int channel() const { return report_.get(); }

  /// Sends SIGTERM to the program and its descendants, and SIGKILL after the grace time. Never waits. A
  /// second call does nothing.
  void stop();
  /// Sends SIGKILL to all of them. Never waits.
  void kill();

 private:
  void read_launcher();
  void command(launcher::Command command, std::chrono::steady_clock::duration grace);
  void reap();
  void lose(const std::string& reason);
  std::vector<ListedProcess> end_orphans();
  std::vector<ListedProcess> orphans() const;
  void reopen_report(ReportedLines& reader);

  const ProcessPlan plan_;
  const std::string mark_;  // variable of the program, by which its orphans are found
  FileDescriptor control_;  // socket to the launcher, which ends all when it is closed
  FileDescriptor report_;   // pipe or socket; null after its end
  FileDescriptor report_file_;
  std::uint64_t report_read_ = 0;  // bytes of the report file
  pid_t launcher_ = 0;             // 0 once it was waited for
  pid_t program_ = 0;              // 0 until it was started
  std::string received_;           // begun notice
  /// After this time a launcher that has a command is taken for a failed one.
  std::chrono::steady_clock::time_point gone_by_ = std::chrono::steady_clock::time_point::max();
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::optional<ProcessEnd> end_;
};

}  // namespace skyline::evaluate
