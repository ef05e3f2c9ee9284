#pragma once

#include <csignal>

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

}  // namespace skyline::app
