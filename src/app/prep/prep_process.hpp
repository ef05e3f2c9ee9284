#pragma once

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

namespace skyline::app {

/// While it lives, SIGINT, SIGTERM and SIGHUP wait: what is temporary can be removed before they take effect,
/// which they do when the object ends.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// Returns whether one waits.
  bool pending() const;

 private:
  sigset_t held_{};  // signals that this process does not ignore
  sigset_t earlier_{};
};

/// A call of `python3 -m skyline.prep`.
struct PrepCall {
  std::string title;                   // beginning of messages: "prep images"
  std::vector<std::string> arguments;  // words after the report's descriptor
};

/// Runs a call in a process of its own, which ends with this one, in the first interpreter that has what it
/// needs. Returns the lines that it has for the person who started the program.
/// @param folder   private folder for its report and its log, empty
/// @param signals  a signal that waits ends the process
/// @throws UserError with the one line of a refusal; or if there is no Python that has what the call needs,
///         or the process fails: damaged bytes may end a library that reads them
std::vector<std::string> run_prep(const PrepCall& call, const std::filesystem::path& folder,
                                  const HeldSignals& signals);

}  // namespace skyline::app
