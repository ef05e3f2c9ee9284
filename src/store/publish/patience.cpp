#include "store/publish/patience.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "store/publish/file_descriptor.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace skyline::store {
namespace {

std::atomic<double> patience{60};

struct Attempts {
  std::mutex mutex;
  std::list<Patience::Attempt> under_way;
};

/// Of the process: never destroyed, since a thread may be in a call when the process ends.
Attempts& attempts() {
  static auto* const kept = new Attempts;
  return *kept;
}

}  // namespace

void set_patience(double seconds) {
  patience = seconds;
}

double patience_s() {
  return patience;
}

double silence_s() {
  constexpr double kLeast_s = 20;
  return std::max(kLeast_s, 10 * patience_s());
}

std::string silent_task(double seconds) {
  Attempts& all = attempts();
  const std::lock_guard lock(all.mutex);
  for (const Patience::Attempt& attempt : all.under_way) {
    if (seconds_since(attempt.began) > seconds) return attempt.task;
  }
  return {};
}

bool may_pass(int error_number) {
  constexpr std::array kMayPass{ENOSPC, EDQUOT, EIO, ESTALE, EINTR, EAGAIN, ETIMEDOUT};
  return std::ranges::find(kMayPass, error_number) != kMayPass.end();
}

Patience::Patience(std::string_view task, const std::filesystem::path& path) : task_(task), path_(path) {
  Attempt attempt{std::string(task) + " " + path.string(), std::chrono::steady_clock::now()};
  Attempts& all = attempts();
  const std::lock_guard lock(all.mutex);
  attempt_ = all.under_way.insert(all.under_way.end(), std::move(attempt));
}

Patience::~Patience() {
  Attempts& all = attempts();
  const std::lock_guard lock(all.mutex);
  all.under_way.erase(attempt_);
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
  const std::lock_guard lock(attempts().mutex);
  attempt_->began = std::chrono::steady_clock::now();
}

void Patience::done() const {
  if (began_) log::warning(path_.string() + ": it worked after " + seconds_text(seconds_since(*began_)));
}

}  // namespace skyline::store
