#include "engine/dispatch/fleet_dispatcher.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"
#include "core/log.hpp"

#include <string>
#include <utility>

namespace skyline::engine {

FleetDispatcher::FleetDispatcher(FleetMail& mail, FleetOptions options, const trial::Evaluator& evaluator,
                                 SlotPool& own_slots, ResultKeeper& results)
    : mail_(mail),
      options_(std::move(options)),
      evaluator_(evaluator),
      own_slots_(own_slots),
      results_(results),
      scheduler_(options_.ranks, mail.prefetch_s()) {}

void FleetDispatcher::submit(std::span<const trial::Trial> trials) {
  for (const trial::Trial& trial : trials) {
    const trial::TrialName name = trial.name();
    scheduler_.submit(name, {evaluator_.predicted_cost(trial), trial.members, options_.alone.contains(name)});
    trials_.emplace(name, trial);
  }
}

std::vector<Arrival> FleetDispatcher::poll() {
  std::vector<Arrival> arrivals;
  take_own(arrivals);
  take_letters(arrivals);
  send_journalled();
  while (const auto next = scheduler_.next()) start(*next);
  return arrivals;
}

void FleetDispatcher::take_own(std::vector<Arrival>& arrivals) {
  for (const TrainedPart& part : own_slots_.take_trained()) {
    scheduler_.ended(part.trial, 0, part.slot, part.seconds);
  }
  for (Arrival& arrival : own_slots_.take()) arrived(std::move(arrival), arrivals);
}

void FleetDispatcher::take_letters(std::vector<Arrival>& arrivals) {
  while (const auto letter = mail_.receive()) {
    if (letter->kind == MailKind::kResult) {
      arrived(mail_.read_result(*letter), arrivals);
    } else if (letter->kind == MailKind::kTrained) {
      const TrainedPart part = FleetMail::read_trained(*letter);
      scheduler_.ended(part.trial, static_cast<std::size_t>(letter->from), part.slot, part.seconds);
    } else if (letter->kind == MailKind::kStop) {
      stop_wanted_ = true;
    } else {
      require(letter->kind == MailKind::kClosed, "a message that rank 0 does not expect");
      ++closed_;
    }
  }
}

void FleetDispatcher::arrived(Arrival arrival, std::vector<Arrival>& arrivals) {
  const trial::TrialTiming& timing = arrival.timing;
  scheduler_.ended(arrival.trial, static_cast<std::size_t>(timing.rank),
                   static_cast<std::size_t>(timing.slot), arrival.stopped() ? 0 : timing.total_s());
  if (!arrival.follower) {
    require(trials_.erase(arrival.trial) > 0, "a result of a trial that is not under way");
    if (timing.rank != 0 && !arrival.stopped()) holders_[arrival.trial] = timing.rank;
  }
  arrivals.push_back(std::move(arrival));
}

/// Ranks keep their results until these are in the journal.
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
  const trial::Trial& trial = trials_.at(start.trial);
  Assignment assignment{trial, std::nullopt};
  if (trial.members > 1) {
    assignment.group = {++groups_, trial.members, static_cast<int>(start.place.rank),
                        static_cast<int>(start.place.ranks)};
    warn_of_crowd(*assignment.group);
  }
  for (std::size_t rank = start.place.rank; rank < start.place.rank + start.place.ranks; ++rank) {
    if (rank == 0) {
      own_slots_.submit(start.place.slot, assignment);
    } else {
      mail_.send_trial(static_cast<int>(rank), start.place.slot, assignment);
    }
  }
}

void FleetDispatcher::warn_of_crowd(const GroupPlace& group) {
  const std::size_t processors = options_.ranks.processors[static_cast<std::size_t>(group.first_rank)];
  if (warned_of_crowd_ || group.members_of(0) <= processors) return;
  warned_of_crowd_ = true;
  log::warning("a group of " + std::to_string(group.members) + " members has " +
               std::to_string(group.members_of(0)) + " on a rank with " + std::to_string(processors) +
               (processors == 1 ? " processor" : " processors") +
               ": right, but slower than alone; start more ranks" +
               (options_.members_key.empty() ? "" : ", or set " + options_.members_key + " lower"));
}

void FleetDispatcher::tell_all(MailKind kind) {
  for (int rank = 1; rank < ranks(); ++rank) mail_.send(rank, kind);
}

void FleetDispatcher::stop() {
  for (const trial::TrialName trial : scheduler_.drop_waiting()) trials_.erase(trial);
  tell_all(MailKind::kStop);
  own_slots_.request_stop();
}

void FleetDispatcher::finish(const std::function<void()>& check) {
  require(idle(), "the run ends with trials that are not done");
  send_journalled();
  tell_all(MailKind::kEnd);
  std::vector<Arrival> late;
  for (Backoff backoff; closed_ < ranks() - 1; backoff.pause()) {
    check();
    take_letters(late);
  }
  require(late.empty(), "a result came after the run's end");
  mail_.close();
}

}  // namespace skyline::engine
