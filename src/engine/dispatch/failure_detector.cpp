#include "engine/dispatch/failure_detector.hpp"

#include "skyline/core/error.hpp"

#include "core/clock.hpp"
#include "core/system/process.hpp"
#include "core/text/hash.hpp"

#include <cmath>
#include <csignal>
#include <cstring>
#include <span>
#include <utility>

#include <unistd.h>

namespace skyline::engine {
namespace {

constexpr double kLook_s = 0.5;
constexpr double kPause_s = 3;  // a longer time between two looks: this process was suspended, or busy

}  // namespace

double steady_now_s() {
  return SteadyClock().now_s();
}

RankProcess RankProcess::own() {
  return {stable_hash64(process_place()), process_start_ticks(getpid()), getpid()};
}

bool RankProcess::has_ended(const RankProcess& observer) const {
  return place == observer.place && process_start_ticks(number) != start_ticks;
}

bool RankProcess::kill(const RankProcess& observer) const {
  return place == observer.place && !has_ended(observer) && ::kill(number, SIGKILL) == 0;
}

FailureDetector::FailureDetector(std::vector<RankProcess> watched, double now_s,
                                 std::function<bool(std::size_t)> has_died)
    : watched_(std::move(watched)),
      has_died_(std::move(has_died)),
      last_look_s_(now_s),
      heard_s_(watched_.size(), now_s),
      states_(watched_.size(), State::kThere) {}

std::vector<FailureDetector::Loss> FailureDetector::losses(double now_s, double limit_s) {
  const double since_s = now_s - last_look_s_;
  if (since_s < kLook_s) return {};
  last_look_s_ = now_s;
  if (since_s > kPause_s) heard_all(now_s);
  std::vector<Loss> lost;
  for (std::size_t rank = 0; rank < watched_.size(); ++rank) {
    State& state = states_[rank];
    if (state == State::kEnded) {
      lost.push_back({rank, "its process has ended", true});
      state = State::kGone;
    } else if (state == State::kThere && (watched_[rank].has_ended(own_) || has_died_(rank))) {
      state = State::kEnded;
    } else if (state == State::kThere && now_s - heard_s_[rank] > limit_s) {
      lost.push_back({rank, "it has been silent for " + std::to_string(std::lround(limit_s)) + " s"});
      state = State::kGone;
    }
  }
  return lost;
}

/// A message.
struct Heartbeats::Sign {
  Kind kind = Kind::kAlive;
  int stops = 0;  // whether the sender knows that the job stops
  int hung = 0;   // kHangs: the rank
  float silent_s = 0;
};

Heartbeats::Heartbeats(std::unique_ptr<comm::Link> link, int rank, int ranks, double now_s)
    : link_(std::move(link)),
      rank_(rank),
      ranks_(ranks),
      watch_(std::vector<RankProcess>(rank == comm::kCoordinator ? static_cast<std::size_t>(ranks) : 1),
             now_s, [](std::size_t) { return false; }) {
  static_assert(sizeof(Sign) <= kMostBytes);
  if (rank == comm::kCoordinator) watch_.leave(0);
}

void Heartbeats::send(int to, Kind kind) {
  Sign sign{kind, stops_ ? 1 : 0};
  if (hung_) sign = {kind, sign.stops, hung_->rank, static_cast<float>(hung_->silent_s)};
  link_->send(to, std::as_bytes(std::span(&sign, 1)));
}

void Heartbeats::receive(const comm::LinkMessage& message, double now_s) {
  Sign sign;
  require(message.bytes.size() == sizeof sign, "a heartbeat of another size");
  std::memcpy(&sign, message.bytes.data(), sizeof sign);
  stops_ = stops_ || sign.stops != 0;
  if (sign.kind == Kind::kSaved) {
    saved_.insert(message.from);
  } else if (sign.kind == Kind::kHangs) {
    if (!hung_) hung_ = HungRank{sign.hung, sign.silent_s, sign.stops != 0};
  } else if (rank_ == comm::kCoordinator) {
    watch_.heard(static_cast<std::size_t>(message.from), now_s);
    send(message.from, Kind::kAlive);  // only an answer, because a rank may have died for which nobody waits
  } else {
    watch_.heard(0, now_s);
  }
}

void Heartbeats::exchange(double now_s, double lost_after_s, bool listens) {
  while (const auto message = link_->receive()) receive(*message, now_s);
  if (rank_ != comm::kCoordinator && now_s - told_alive_s_ >= kSignOfLife_s) {
    send(comm::kCoordinator, Kind::kAlive);
    told_alive_s_ = now_s;
  }
  const double most_s = longest_silence_s(lost_after_s, stops_);
  if (!listens) watch_.heard_all(now_s);
  for (const FailureDetector::Loss& loss : watch_.losses(now_s, most_s)) {
    if (hung_) return;
    hung_ = HungRank{static_cast<int>(loss.rank), most_s, stops_};
    for (int to = 0; to < ranks_; ++to) {
      if (to != rank_) send(to, Kind::kHangs);
    }
  }
}

void Heartbeats::tell_saved() {
  if (leads()) {
    saved_.insert(rank_);
  } else {
    send(leader(), Kind::kSaved);
  }
}

}  // namespace skyline::engine
