#pragma once

#include "core/system/open_file.hpp"

#include <cstddef>
#include <deque>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace skyline::app {

/// How a program of the user is asked, and what messages say of it.
struct Asking {
  std::vector<std::string> run;  // program, which may be one that is found in PATH, and arguments
  std::string variable;          // name of the variable that tells the program the number of its socket
  std::filesystem::path log;     // gets what it prints
  std::string subject;           // beginning of messages: "search.run: the tuner"
  std::string timeout_key;       // "search.timeout"
  double timeout_s = 0;          // how long it may be silent when it is sent something, or has to answer
};

/// A program of the user with which this process exchanges lines, and the thread that serves it. The program
/// gets a socket as its descriptor 3. No function but the destructor waits; one thread calls them all.
class AskedProgram {
 public:
  /// Starts the thread, which starts the program. It gets the variables that trainers get.
  explicit AskedProgram(Asking asking);
  /// Lets the socket end, and ends the program a second later unless it has ended by itself.
  ~AskedProgram();
  AskedProgram(const AskedProgram&) = delete;
  AskedProgram& operator=(const AskedProgram&) = delete;

  /// Sends a line. @param is_question  whether the program must answer it
  void send(const std::string& line, bool is_question);
  /// Returns the next answer, or nullopt until it is there.
  /// @throws UserError if the program has sent what is no line, or what nobody asked for
  /// @throws FaultError if it has ended, is silent for too long, or cannot be started
  std::optional<std::string> receive();
  /// Lets the socket end once all is sent.
  void end();

 private:
  class Exchange;

  void wake() const;
  void serve();

  const Asking asking_;
  const FileDescriptor wake_;  // counter of events that end a pause of the thread
  std::mutex mutex_;           // guards the members below
  std::string unsent_;
  std::size_t unanswered_ = 0;  // number of questions
  std::deque<std::string> answers_;
  std::exception_ptr failure_;
  bool is_ending_ = false;    // nothing more will be sent
  bool is_unwanted_ = false;  // the object is about to be gone
  std::thread thread_;        // uses all others, so it is the last
};

}  // namespace skyline::app
