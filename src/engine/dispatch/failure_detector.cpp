#include "engine/dispatch/failure_detector.hpp"

#include "core/clock.hpp"
#include "core/system/process.hpp"
#include "core/text/hash.hpp"

#include <cmath>
#include <csignal>
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

}  // namespace skyline::engine
