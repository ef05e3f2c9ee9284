#include "engine/group/group_exchange.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"
#include "core/text/wording.hpp"
#include "engine/group/group_hub.hpp"

#include <exception>
#include <thread>

namespace skyline::engine {
namespace {

using namespace std::chrono_literals;
using trial::Failure;
using trial::FailureKind;

constexpr const char* kHasLeft = "a member of the group has left an operation";
constexpr auto kSpinAlone = 10us;  // afterwards it lets others run
constexpr auto kSpin = 100us;
constexpr auto kShortestPause = 50us;
constexpr auto kLongestPause = 500us;
constexpr auto kLongestPauseUntilJoined = 5ms;
constexpr auto kLongestPauseOfThreads = 50ms;  // members wake each other

}  // namespace

GroupExchange::GroupExchange(const GroupPlace& place, std::size_t rank_index, GroupHub& hub,
                             std::chrono::milliseconds silence)
    : place_(place),
      rank_index_(rank_index),
      members_(place.members_of(rank_index)),
      hub_(hub),
      silence_(silence),
      unsent_before_(hub.unsent_bytes()),
      next_(members_),
      joined_(place.ranks.size()),
      silences_(joined_.size(), SilenceTimer(Clock::now())),
      left_(members_) {}

std::uint64_t GroupExchange::post(std::size_t local, GroupCall call, std::span<std::byte> values) {
  std::unique_lock lock(mutex_);
  throw_if_aborted(lock);
  const std::uint64_t number = next_[local]++;
  try {
    require(!left_[local], kHasLeft);
    Operation& operation = operation_of(number, call, values.size());
    operation.values[local] = values;
    operation.has[local] = true;
    if (++operation.posted == members_) start(number, operation);
  } catch (const std::exception& error) {
    lock.unlock();
    abort({FailureKind::kException, error.what()}, true);
    lock.lock();
    throw_if_aborted(lock);
  }
  return number;
}

bool GroupExchange::test(std::uint64_t number) {
  progress(number);
  std::unique_lock lock(mutex_);
  if (is_complete(number)) return true;
  throw_if_aborted(lock);
  return false;
}

void GroupExchange::wait(std::uint64_t number) {
  Clock::time_point alone_until = Clock::now() + kSpinAlone;
  Clock::time_point spin_until = Clock::now() + kSpin;
  Backoff backoff(kShortestPause, kLongestPauseOfThreads);
  bool has_paused = false;
  while (true) {
    const bool has_worked = progress(number);
    {
      std::unique_lock lock(mutex_);
      if (is_complete(number)) return;
      throw_if_aborted(lock);
    }
    if (has_paused && !has_worked) give_up_if_silent(number);
    has_paused = false;
    const Clock::time_point now = Clock::now();
    if (has_worked) {
      alone_until = now + kSpinAlone;
      spin_until = now + kSpin;
      backoff.reset();
    } else if (now > spin_until && now > alone_until) {
      pause(number, backoff.next());
      has_paused = true;
      alone_until = Clock::now() + kSpinAlone;  // one look may not be enough to see new messages
    } else if (now > alone_until) {
      std::this_thread::yield();
    }
  }
}

void GroupExchange::leave(std::size_t local, std::uint64_t number, bool by_an_error) noexcept {
  {
    std::unique_lock lock(mutex_);
    if (is_complete(number)) return;
    if (by_an_error) {
      left_[local] = true;
      changed_.wait(lock, [this] { return at_work_ == 0; });
      return;
    }
  }
  abort({FailureKind::kException, kHasLeft});
}

void GroupExchange::check() {
  poll();
  std::unique_lock lock(mutex_);
  throw_if_aborted(lock);
}

void GroupExchange::abort(const Failure& failure, bool fault) noexcept {
  try {
    if (set_aborted(failure, fault)) tell_of_abort(failure, fault);
  } catch (const std::exception&) {  // the others will find this member silent
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return at_work_ == 0; });
}

void GroupExchange::give_up(const Failure& failure) noexcept {
  set_aborted(failure, false);
}

bool GroupExchange::has_sent_all() const {
  const std::lock_guard lock(mutex_);
  return failure_ || hub_.unsent_bytes() <= unsent_before_;
}

bool GroupExchange::set_aborted(const Failure& failure, bool fault) {
  const std::lock_guard lock(mutex_);
  // The fault is reported before any member can throw: whoever hears of the abort next asks whether it was a
  // fault.
  if (fault) hub_.report_fault(failure.reason);
  if (failure_) return false;
  failure_ = failure;
  contributions_.clear();
  last_tasks_.clear();
  changed_.notify_all();
  return true;
}

void GroupExchange::tell_of_abort(const Failure& failure, bool fault) {
  if (place_.ranks.size() == 1) return;
  const auto message = make_message({.step = GroupStep::kAborted, .failure = failure.kind, .fault = fault},
                                    failure.reason.size());
  std::ranges::copy(std::as_bytes(std::span(failure.reason)), payload_of(*message).begin());
  send_to_others(message);
}

void GroupExchange::throw_if_aborted(std::unique_lock<std::mutex>& lock) {
  if (!failure_) return;
  // Once a member knows, its values may be destroyed.
  changed_.wait(lock, [this] { return at_work_ == 0; });
  throw trial::GroupAborted(*failure_);
}

void GroupExchange::pause(std::uint64_t number, std::chrono::microseconds length) {
  std::unique_lock lock(mutex_);
  std::chrono::microseconds longest = kLongestPause;
  if (place_.ranks.size() == 1) {
    longest = kLongestPauseOfThreads;
  } else if (!all_joined()) {
    longest = kLongestPauseUntilJoined;
  }
  changed_.wait_for(lock, std::min(length, longest),
                    [&] { return is_complete(number) || failure_ || has_task(); });
}

void GroupExchange::send_heartbeat() noexcept {
  try {
    send_to_others(make_message({.step = GroupStep::kAlive}, 0));
  } catch (const std::exception& error) {
    abort({FailureKind::kException, error.what()}, true);
  }
  for (std::size_t others = 1; others < place_.ranks.size() && poll();) ++others;
}

/// A rank gives heartbeats as long as its process runs, however long its members compute.
void GroupExchange::give_up_if_silent(std::uint64_t number) {
  std::string reason;
  {
    const std::lock_guard lock(mutex_);
    // A rank that is busy with other trials, or waits for storage, joins later.
    if (is_complete(number) || failure_ || !all_joined()) return;
    const Operation& operation = operations_.at(number);
    for (std::size_t index = 0; index < silences_.size(); ++index) {
      const bool is_silent = silences_[index].update(Clock::now()) >= silence_;
      if (!is_silent || !waits_for(operation, index)) continue;
      reason = members_of_rank(index) + " silent for " +
               seconds_text(std::chrono::duration<double>(silence_).count()) + " in " +
               std::string(name_of(operation.call)) + " " + std::to_string(number);
    }
  }
  if (!reason.empty()) abort({FailureKind::kException, reason}, true);
}

/// Returns whether the operation still needs a message of another rank.
bool GroupExchange::waits_for(const Operation& operation, std::size_t index) const {
  if (index == rank_index_) return false;
  for (std::size_t piece = 0; piece < operation.pieces.size(); ++piece) {
    const PieceState& state = operation.states[piece];
    if (state.scheduled) continue;
    const bool lacks_term = owns(operation.pieces[piece]) && adds(operation.call) && !state.terms[index];
    const bool lacks_result = operation.pieces[piece].owner == index && !state.result &&
                              operation.call != GroupCall::kReduceScatter;  // only the owner gets its result
    if (lacks_term || lacks_result) return true;
  }
  return false;
}

std::string GroupExchange::members_of_rank(std::size_t index) const {
  const std::size_t first = place_.first_member(index);
  const std::size_t count = place_.members_of(index);
  const std::string place = " (" + hub_.name_of(place_.ranks[index]) + ") ";
  if (count == 1) return "member " + std::to_string(first) + place + "has been";
  return "members " + std::to_string(first) + " to " + std::to_string(first + count - 1) + place +
         "have been";
}

}  // namespace skyline::engine
