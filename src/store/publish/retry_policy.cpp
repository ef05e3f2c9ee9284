#include "store/publish/retry_policy.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "store/publish/file_descriptor.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <thread>
#include <utility>

namespace skyline::store {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestLook(3);  // longest time between two looks at the attempts

std::atomic<double> patience{60};
std::atomic<double> silence{600};

struct Attempts {
  std::mutex mutex;
  std::list<IoOperation::Entry> under_way;
  Clock::time_point last_look = Clock::now();
};

thread_local IoOperation* last_attempt = nullptr;

/// The attempts of this process. Never destroyed: a thread may be in a call when the process ends.
Attempts& attempts() {
  static auto* const kept = new Attempts;
  return *kept;
}

}  // namespace

void set_patience(double seconds) {
  constexpr double kLeastSilence_s = 20;
  patience = seconds;
  silence = std::max(kLeastSilence_s, 10 * seconds);
}

void cut_patience(double seconds) {
  patience = std::min(patience.load(), seconds);
}

double patience_s() {
  return patience;
}

IoOperation::IoOperation(std::string_view task, const std::filesystem::path& path)
    : around_(std::exchange(last_attempt, this)) {
  Entry entry{std::string(task) + " " + path.string(), Clock::now()};
  Attempts& all = attempts();
  const std::lock_guard lock(all.mutex);
  entry_ = all.under_way.insert(all.under_way.end(), std::move(entry));
}

IoOperation::~IoOperation() {
  last_attempt = around_;
  Attempts& all = attempts();
  const std::lock_guard lock(all.mutex);
  all.under_way.erase(entry_);
}

void IoOperation::begin() {
  const std::lock_guard lock(attempts().mutex);
  entry_->began = Clock::now();
}

void IoOperation::advance() {
  if (last_attempt != nullptr) last_attempt->begin();
}

double silence_s() {
  return silence;
}

std::string stalled_operation(double seconds) {
  Attempts& all = attempts();
  const std::lock_guard lock(all.mutex);
  const auto now = Clock::now();
  const auto unseen =
      std::max(now - std::exchange(all.last_look, now) - kLongestLook, Clock::duration::zero());
  for (IoOperation::Entry& attempt : all.under_way) attempt.began = std::min(attempt.began + unseen, now);
  for (const IoOperation::Entry& attempt : all.under_way) {
    if (seconds_since(attempt.began) > seconds) return attempt.task;
  }
  return {};
}

void check_stalls(double seconds) {
  const std::string task = stalled_operation(seconds);
  if (task.empty()) return;
  throw FaultError("cannot " + task + ": no answer for " + seconds_text(seconds) +
                   " (see whether the file server is up, then run again with --resume)");
}

bool is_transient(int error_number) {
  constexpr std::array kMayPass{ENOSPC, EDQUOT, EIO, ESTALE, EINTR, EAGAIN, ETIMEDOUT};
  return std::ranges::find(kMayPass, error_number) != kMayPass.end();
}

void RetryPolicy::on_fault(const Fault& fault) {
  if (!is_transient(fault.error)) fail_system(task_, path_, fault.call, fault.error);
  if (!began_) {
    began_ = std::chrono::steady_clock::now();
    log::warning("cannot " + std::string(task_) + " " + path_.string() + " now: " + std::string(fault.call) +
                 ": " + system_error_text(fault.error) + "; trying again for " + seconds_text(patience_s()));
  }
  const std::chrono::duration<double> left(patience_s() - seconds_since(*began_));
  if (left.count() <= 0) fail_system(task_, path_, fault.call, fault.error);
  std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(backoff_.next(), left));
  attempt_.begin();
}

void RetryPolicy::done() const {
  if (began_) log::warning(path_.string() + ": it worked after " + seconds_text(seconds_since(*began_)));
}

}  // namespace skyline::store
