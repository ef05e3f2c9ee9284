#include "skyline/core/error.hpp"

#include "core/backoff.hpp"
#include "engine/dispatch/fleet_dispatcher.hpp"
#include "trial/trial_record.hpp"

#include <limits>
#include <utility>

namespace skyline::engine {
FleetWorker::FleetWorker(FleetChannel& mail, SlotPool& own_slots, ResultKeeper& results,
                         std::function<bool()> stop_requested, const RankProcess& coordinator, int ranks)
    : mail_(mail),
      own_slots_(own_slots),
      results_(results),
      stop_requested_(std::move(stop_requested)),
      ranks_(ranks),
      watch_({coordinator}, steady_now_s(), [this](std::size_t rank) { return mail_.has_died(rank); }) {}

void FleetWorker::serve(const std::function<void()>& check, const std::function<bool()>& all_is_written) {
  for (Backoff backoff; !ended_ || !all_is_written(); backoff.pause()) {
    check();
    send_heartbeat();
    end_if_stuck();
    ask_for_stop();
    const bool received = receive_messages();
    const bool sent = send_results();
    if (received || sent) backoff.reset();
  }
}

void FleetWorker::close() {
  mail_.send(comm::kCoordinator, MessageKind::kClosed);
  mail_.close();
}

void FleetWorker::send_heartbeat() {
  if (!mail_.outlives_ranks()) return;
  const double now_s = steady_now_s();
  if (now_s - told_alive_s_ >= kSignOfLife_s) {
    mail_.send(comm::kCoordinator, MessageKind::kAlive);
    told_alive_s_ = now_s;
  }
  for (const FailureDetector::Loss& loss : watch_.losses(now_s, std::numeric_limits<double>::infinity())) {
    for (int rank = 1; rank < ranks_; ++rank)
      mail_.send(rank, MessageKind::kAbort);  // not all can see it end
    throw FaultError("rank 0 is lost (" + loss.cause + "): resume the run");
  }
}

/// Ends this rank if a trial is stuck: the slot cannot be used any more, and the rank may hold a device.
void FleetWorker::end_if_stuck() {
  if (!mail_.outlives_ranks()) return;
  const std::optional<trial::TrialName> trial = own_slots_.stuck();
  if (!trial) return;
  mail_.send(comm::kCoordinator, MessageKind::kStuck, *trial);
  throw FaultError("trial " + to_text(*trial) + " took longer than run.trial_timeout, and does not stop");
}

void FleetWorker::ask_for_stop() {
  if (asked_for_stop_ || ended_ || !stop_requested_ || !stop_requested_()) return;
  asked_for_stop_ = true;
  mail_.send(comm::kCoordinator, MessageKind::kStop);
}

bool FleetWorker::receive_messages() {
  bool any = false;
  while (const auto message = mail_.receive()) {
    any = true;
    if (message->kind == MessageKind::kTrial) {
      FleetChannel::SlotTrial trial = mail_.read_trial(*message);
      own_slots_.submit(trial.slot, std::move(trial.assignment));
    } else if (message->kind == MessageKind::kJournalled) {
      results_.journalled(from_record<std::vector<trial::TrialName>>(message->content));
    } else if (message->kind == MessageKind::kStop) {
      own_slots_.request_stop();
    } else if (message->kind == MessageKind::kGiveUp) {
      own_slots_.give_up(from_record<std::uint64_t>(message->content));
    } else if (message->kind == MessageKind::kKill) {
      from_record<RankProcess>(message->content).kill(RankProcess::own());
    } else if (message->kind == MessageKind::kAbort) {
      throw FaultError("rank 0 has failed or is lost, or takes this rank for lost");
    } else {
      require(message->kind == MessageKind::kEnd, "a message that only rank 0 expects");
      ended_ = true;
    }
  }
  return any;
}

bool FleetWorker::send_results() {
  const std::vector<TrainedPart> parts = own_slots_.take_trained();
  const std::vector<Arrival> arrivals = own_slots_.take_arrivals();
  for (const TrainedPart& part : parts) mail_.send(comm::kCoordinator, MessageKind::kTrained, part);
  for (const Arrival& arrival : arrivals) mail_.send(comm::kCoordinator, MessageKind::kResult, arrival);
  return !parts.empty() || !arrivals.empty();
}

}  // namespace skyline::engine
