#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "engine/dispatch/fleet_dispatcher.hpp"

#include <algorithm>
#include <string>
#include <utility>

// The part of FleetDispatcher that handles lost ranks.

namespace skyline::engine {
namespace {

constexpr std::uint32_t kFailsAfter = 4;  // number of losses, the last two of them alone
constexpr int kMostOfAHost = 3;           // number of losses

bool is_on(const std::optional<Placement>& place, std::size_t rank) {
  return place && std::ranges::find(place->ranks, rank) != place->ranks.end();
}

trial::Failure ended_ranks() {
  return {trial::FailureKind::kException, "ended 4 ranks, the last 2 while it trained alone"};
}

}  // namespace

void FleetDispatcher::handle_lost_ranks() {
  if (!watch_) return;
  const double limit_s = longest_silence_s(options_.engine.lost_after_s, stopping_);
  for (const FailureDetector::Loss& loss : watch_->losses(steady_now_s(), limit_s)) lose(loss);
}

void FleetDispatcher::lose(const FailureDetector::Loss& loss) {
  const int rank = static_cast<int>(loss.rank);
  if (!gone_.insert(rank).second) return;
  lost_ranks_ = true;
  if (!loss.ends) mail_.send(rank, MessageKind::kAbort);  // in case that it comes back
  mail_.lose(rank);
  watch_->leave(loss.rank);
  if (!loss.ends) end_process(rank);  // a failing rank will still say why
  store::RankLoss told{rank, options_.ranks.hosts[loss.rank], loss.cause, {}};
  for (const auto& [name, submitted] : trials_) {
    if (is_on(submitted.place, loss.rank)) told.trials.push_back(name);
  }
  std::ranges::sort(told.trials);
  log::warning(
      "rank " + std::to_string(rank) + " on " + told.host + " is lost (" + loss.cause +
      "): the run goes on without it" +
      (told.trials.empty() ? "" : ", and trains " + counted(told.trials.size(), "trial") + " again"));
  for (run::RunListener* listener : *options_.listeners) listener->lost(told);
  if (ending_) return;
  std::erase_if(holders_, [&](const auto& entry) { return entry.second == rank; });
  scheduler_.lose(loss.rank);
  if (++losses_of_host_[told.host] == kMostOfAHost) {
    retire(told.host, "has lost " + counted(kMostOfAHost, "rank"));
  }
  for (const trial::TrialName name : told.trials) send_again(name);
}

/// Ends the process of a lost rank. A rank that hangs may wake up one day, and holds its device until then,
/// so a rank of its host kills it.
void FleetDispatcher::end_process(int rank) {
  const RankProcess& process = options_.processes[static_cast<std::size_t>(rank)];
  if (process.kill(options_.processes[0])) return;
  for (int other = 1; other < ranks(); ++other) {
    const RankProcess& neighbour = options_.processes[static_cast<std::size_t>(other)];
    if (neighbour.place == process.place && !gone_.contains(other))
      return mail_.send(other, MessageKind::kKill, process);
  }
}

/// Tells the other ranks of a group not to wait for the lost one.
void FleetDispatcher::give_up_group(const Submitted& submitted) {
  const Placement& place = *submitted.place;
  if (place.ranks.size() == 1) return;
  for (const std::size_t rank : place.ranks) {
    if (rank == 0) {
      own_slots_.give_up(submitted.sequence);
    } else {
      mail_.send(static_cast<int>(rank), MessageKind::kGiveUp, submitted.sequence);
    }
  }
}

void FleetDispatcher::send_again(trial::TrialName name) {
  Submitted& submitted = trials_.at(name);
  give_up_group(submitted);
  ++submitted.losses;
  if (!stopping_ && !submitted.stuck && submitted.losses < kFailsAfter) return submit_again(name, submitted);
  if (!stopping_) {
    Arrival failed{name, submitted.stuck ? took_too_long() : ended_ranks(), {}};
    failed.timing.rank = static_cast<std::int32_t>(submitted.place->ranks.front());
    failed.timing.slot = static_cast<std::int32_t>(submitted.place->slot);
    arrivals_.push_back(std::move(failed));
  }
  trials_.erase(name);
}

/// Marks a stuck trial; its rank ends itself, and is then lost.
void FleetDispatcher::mark_stuck(trial::TrialName name) {
  const auto found = trials_.find(name);
  if (found == trials_.end()) return;
  Submitted& submitted = found->second;
  submitted.stuck = submitted.tried++ > 0;
}

}  // namespace skyline::engine
