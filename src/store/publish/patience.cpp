#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/storage_call.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <string>
#include <thread>

namespace skyline::store {
namespace {

constexpr std::chrono::milliseconds kLongestPause{2000};

std::atomic<double> patience{60};

std::string seconds_text(double seconds) {
  return std::to_string(std::lround(seconds)) + " s";
}

}  // namespace

void set_patience(double seconds) {
  patience = seconds;
}

double patience_s() {
  return patience;
}

bool may_pass(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
    case EIO:
    case ESTALE:
    case EINTR:
    case EAGAIN:
    case ETIMEDOUT:
      return true;
    default:
      return false;
  }
}

bool GrowingPause::sleep(double bound_s) {
  const std::chrono::duration<double> left =
      std::chrono::duration<double>(bound_s) - (Clock::now() - started_);
  if (left.count() <= 0) return false;
  std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(next_, left));
  next_ = std::min(2 * next_, kLongestPause);
  return true;
}

void Patience::bear(const Fault& fault) {
  if (!may_pass(fault.error)) fail_system(task_, path_, fault.call, fault.error);
  if (!waiting_) {
    waiting_ = true;
    began_ = std::chrono::steady_clock::now();
    log::warning("cannot " + std::string(task_) + " " + path_.string() + " now: " + std::string(fault.call) +
                 ": " + system_error_text(fault.error) + "; trying again for " + seconds_text(patience_s()));
  }
  if (!pause_.sleep(patience_s())) fail_system(task_, path_, fault.call, fault.error);
}

void Patience::done() const {
  if (!waiting_) return;
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - began_;
  log::warning(path_.string() + ": it worked after " + seconds_text(waited.count()));
}

}  // namespace skyline::store
