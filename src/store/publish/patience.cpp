#include "store/publish/patience.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "store/publish/file_descriptor.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

namespace skyline::store {
namespace {

std::atomic<double> patience{60};

}  // namespace

void set_patience(double seconds) {
  patience = seconds;
}

double patience_s() {
  return patience;
}

bool may_pass(int error_number) {
  constexpr std::array kMayPass{ENOSPC, EDQUOT, EIO, ESTALE, EINTR, EAGAIN, ETIMEDOUT};
  return std::ranges::find(kMayPass, error_number) != kMayPass.end();
}

void Patience::bear(const Fault& fault) {
  if (!may_pass(fault.error)) fail_system(task_, path_, fault.call, fault.error);
  if (!began_) {
    began_ = std::chrono::steady_clock::now();
    log::warning("cannot " + std::string(task_) + " " + path_.string() + " now: " + std::string(fault.call) +
                 ": " + system_error_text(fault.error) + "; trying again for " + seconds_text(patience_s()));
  }
  const std::chrono::duration<double> left(patience_s() - seconds_since(*began_));
  if (left.count() <= 0) fail_system(task_, path_, fault.call, fault.error);
  std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(backoff_.next(), left));
}

void Patience::done() const {
  if (began_) log::warning(path_.string() + ": it worked after " + seconds_text(seconds_since(*began_)));
}

}  // namespace skyline::store
