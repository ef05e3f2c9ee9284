#include "engine/dispatch/fleet_dispatcher.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "engine/loop/trial_maker.hpp"
#include "trial/trial_record.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <variant>

namespace skyline::engine {
namespace {

constexpr std::uint32_t kAloneAfter = 2;  // number of losses after which it trains alone, since it may be
                                          // what ends its ranks

}  // namespace

FleetDispatcher::FleetDispatcher(FleetChannel& mail, FleetOptions options, SlotPool& own_slots,
                                 ResultKeeper& results)
    : mail_(mail),
      options_(std::move(options)),
      own_slots_(own_slots),
      results_(results),
      scheduler_(options_.ranks, mail.prefetch_s()) {
  if (!mail_.outlives_ranks()) return;
  watch_.emplace(options_.processes, steady_now_s(),
                 [this](std::size_t rank) { return mail_.has_died(rank); });
  watch_->leave(0);
}

void FleetDispatcher::submit(std::span<const AskedTrial> trials) {
  for (const AskedTrial& trial : trials) {
    const auto [place, is_new] = trials_.emplace(trial->name(), Submitted{trial});
    require(is_new, "a trial is submitted while it is under way");
    submit(place->first, place->second);
  }
}

void FleetDispatcher::submit(trial::TrialName name, const Submitted& submitted) {
  const bool alone = options_.alone.contains(name) || submitted.losses >= kAloneAfter || submitted.alone;
  const trial::Trial& trial = *submitted.trial;
  scheduler_.submit(name, {static_cast<double>(trial.cost), trial.members, alone, submitted.tried_on});
}

/// Submits the trial again; the previous attempt is abandoned.
void FleetDispatcher::submit_again(trial::TrialName name, Submitted& submitted) {
  submitted.place.reset();
  ++submitted.attempt;
  for (run::RunListener* listener : *options_.listeners) listener->again(name);
  submit(name, submitted);
}

std::span<Arrival> FleetDispatcher::poll() {
  arrivals_.clear();
  receive_own_results();
  receive_messages();
  handle_lost_ranks();
  send_journalled();
  while (const auto next = scheduler_.next()) start(*next);
  return arrivals_;
}

void FleetDispatcher::receive_own_results() {
  for (const TrainedPart& part : own_slots_.take_trained()) {
    scheduler_.ended(part.trial, 0, part.slot, part.seconds);
  }
  for (Arrival& arrival : own_slots_.take_arrivals()) arrived(std::move(arrival));
}

void FleetDispatcher::receive_messages() {
  const double now_s = steady_now_s();
  while (const auto message = mail_.receive()) {
    const auto rank = static_cast<std::size_t>(message->from);
    if (watch_) watch_->heard(rank, now_s);
    if (message->kind == MessageKind::kResult) {
      arrived(from_record<Arrival>(message->content));
    } else if (message->kind == MessageKind::kTrained) {
      const TrainedPart part = from_record<TrainedPart>(message->content);
      scheduler_.ended(part.trial, rank, part.slot, part.seconds);
    } else if (message->kind == MessageKind::kStop) {
      stop_wanted_ = true;
    } else if (message->kind == MessageKind::kClosed) {
      gone_.insert(message->from);
      mail_.lose(message->from);
      if (watch_) watch_->leave(rank);
    } else if (message->kind == MessageKind::kStuck) {
      mark_stuck(from_record<trial::TrialName>(message->content));
    } else if (message->kind == MessageKind::kFailed) {
      lose({rank, "it has failed", true});
    } else {
      require(message->kind == MessageKind::kAlive, "a message that rank 0 does not expect");
    }
  }
}

void FleetDispatcher::arrived(Arrival arrival) {
  const trial::TrialTiming& timing = arrival.timing;
  scheduler_.ended(arrival.trial, static_cast<std::size_t>(timing.rank),
                   static_cast<std::size_t>(timing.slot), arrival.whole_s());
  const auto found = trials_.find(arrival.trial);
  const bool is_late = found == trials_.end() || found->second.attempt != arrival.attempt;
  require(!is_late || arrival.follower || lost_ranks_, "a result of a trial that is not under way");
  if (!is_late && !arrival.follower) judge(arrival, found->second);
  if (arrival.again && !is_late && found->second.alone) fail_if_filled(arrival, found->second);
  if (arrival.again && !is_late) try_again(arrival);
  if (is_late || arrival.again) arrival.follower = true;  // only its time counts
  if (!arrival.follower) {
    trials_.erase(found);
    if (timing.rank != 0 && !arrival.stopped() && !arrival.in_doubt) holders_[arrival.trial] = timing.rank;
  }
  arrivals_.push_back(std::move(arrival));
}

/// Tells ranks which results are in the journal; they keep the others.
void FleetDispatcher::send_journalled() {
  std::map<int, std::vector<trial::TrialName>> durable;
  for (const trial::TrialName trial : results_.take_journalled()) {
    const auto holder = holders_.find(trial);
    if (holder == holders_.end()) continue;
    durable[holder->second].push_back(trial);
    holders_.erase(holder);
  }
  for (const auto& [rank, trials] : durable) mail_.send_journalled(rank, trials);
}

void FleetDispatcher::start(const Scheduler::Start& start) {
  Submitted& submitted = trials_.at(start.trial);
  submitted.place = start.place;
  warn_of_time(submitted, start.place.ranks.size());
  const bool has_failed = !submitted.failed_tries.empty();
  Assignment assignment{.trial = submitted.trial,
                        .group = {},
                        .attempt = submitted.attempt,
                        .tried = submitted.tried,
                        .losses = submitted.losses,
                        .last_failure = has_failed ? submitted.failed_tries.back().reason : "",
                        .in_doubt = may_fail_by_its_host(submitted)};
  if (const std::uint32_t members = submitted.trial->members; members > 1) {
    submitted.sequence = ++groups_;
    assignment.group = {groups_, members, {start.place.ranks.begin(), start.place.ranks.end()}};
    warn_of_crowd(*assignment.group);
  }
  for (const std::size_t rank : start.place.ranks) {
    if (rank == 0) {
      Assignment own = assignment;  // a copy, because the network that the slot builds is destroyed with it
      own.trial = std::make_shared<const trial::Trial>(without_network(*own.trial));
      own_slots_.submit(start.place.slot, std::move(own));
    } else {
      mail_.send_trial(static_cast<int>(rank), start.place.slot, assignment);
    }
  }
}

void FleetDispatcher::warn_of_crowd(const GroupPlace& group) {
  const std::size_t processors = options_.ranks.processors[static_cast<std::size_t>(group.ranks.front())];
  if (warned_of_crowd_ || group.members_of(0) <= processors) return;
  warned_of_crowd_ = true;
  log::warning(
      "a group of " + std::to_string(group.members) + " members has " + std::to_string(group.members_of(0)) +
      " on a rank with " + std::to_string(processors) + (processors == 1 ? " processor" : " processors") +
      ": right, but slower than alone; start more ranks" +
      (options_.engine.members_key.empty() ? "" : ", or set " + options_.engine.members_key + " lower"));
}

void FleetDispatcher::warn_of_time(const Submitted& submitted, std::size_t ranks) {
  if (warned_of_time_ || !options_.engine.trial_timeout_s) return;
  const std::optional<double> forecast_s =
      scheduler_.forecast_s(static_cast<double>(submitted.trial->cost) / static_cast<double>(ranks));
  if (!forecast_s || *forecast_s <= *options_.engine.trial_timeout_s) return;
  warned_of_time_ = true;
  log::warning("trial " + to_text(submitted.trial->name()) + " is expected to take " +
               seconds_text(*forecast_s) + ": longer than run.trial_timeout");
}

void FleetDispatcher::tell_all(MessageKind kind) {
  for (int rank = 1; rank < ranks(); ++rank) mail_.send(rank, kind);
}

void FleetDispatcher::stop() {
  stopping_ = true;
  for (const trial::TrialName trial : scheduler_.drop_waiting()) trials_.erase(trial);
  tell_all(MessageKind::kStop);
  own_slots_.request_stop();
}

void FleetDispatcher::finish(const std::function<void()>& check) {
  require(idle(), "the run ends with trials that are not done");
  ending_ = true;
  send_journalled();
  tell_all(MessageKind::kEnd);
  arrivals_.clear();
  for (Backoff backoff; std::ssize(gone_) < ranks() - 1; backoff.pause()) {
    check();
    receive_messages();
    handle_lost_ranks();
  }
  require(std::ranges::all_of(arrivals_, &Arrival::follower), "a result came after the run's end");
  mail_.close();
}

}  // namespace skyline::engine
