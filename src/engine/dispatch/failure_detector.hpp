#pragma once

#include "comm/link.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

namespace skyline::engine {

/// Seconds between the heartbeats that ranks send when there is nothing else to say.
inline constexpr double kSignOfLife_s = 1;

/// Returns the longest silence of a rank. While a job stops it is at most 15 s: a stop cannot wait for long.
/// @param lost_after_s  run.lost_after
inline double longest_silence_s(double lost_after_s, bool stops) {
  return stops ? std::min(lost_after_s, 15.0) : lost_after_s;
}

/// Returns seconds of a clock that never jumps.
double steady_now_s();

/// A rank's process, as another rank sees it.
struct RankProcess {
  std::uint64_t place = 0;        // hash of process_place(), in which the number is unique
  std::uint64_t start_ticks = 0;  // distinguishes it from a later process with the same number
  pid_t number = 0;

  static RankProcess own();
  /// Returns whether it has ended; false if it is not in `observer`'s place, since that is unknown.
  bool has_ended(const RankProcess& observer) const;
  /// Kills the process, if it is in `observer`'s place and still exists. Returns whether it did.
  bool kill(const RankProcess& observer) const;
};

/// Finds the ranks that have died or fallen silent. It must be notified of every message and polled. A long
/// time between two polls means that this process itself was paused, for which no rank is blamed.
class FailureDetector {
 public:
  /// @param watched   processes, by rank
  /// @param has_died  returns whether something else knows that a rank's process has ended
  FailureDetector(std::vector<RankProcess> watched, double now_s, std::function<bool(std::size_t)> has_died);

  void heard(std::size_t rank, double now_s) { heard_s_[rank] = now_s; }
  /// Counts no silence before now.
  void heard_all(double now_s) { std::ranges::fill(heard_s_, now_s); }
  struct Loss {
    std::size_t rank = 0;
    std::string cause;  // e.g. "its process has ended"
    bool ends = false;  // it has ended, or ends by itself; false if it may come back
  };
  /// Returns the ranks that were lost since the last call. It is cheap, since it looks only twice per second.
  /// @param limit_s  longest silence
  std::vector<Loss> losses(double now_s, double limit_s);
  /// Stops watching a rank that has said goodbye.
  void leave(std::size_t rank) { states_[rank] = State::kGone; }

 private:
  /// kEnded: its process has ended, but its goodbye may still arrive.
  enum class State : std::uint8_t { kThere, kEnded, kGone };

  const RankProcess own_ = RankProcess::own();
  const std::vector<RankProcess> watched_;
  const std::function<bool(std::size_t)> has_died_;
  double last_look_s_;
  std::vector<double> heard_s_;
  std::vector<State> states_;
};

/// A rank that has fallen silent.
struct HungRank {
  int rank = 0;
  double silent_s = 0;  // the silence that was too long
  bool stops = false;   // whether a rank already wanted the job to stop when it was found
};

/// The heartbeats of a job's ranks. Each rank sends one to rank 0 every second, and rank 0 answers. So it
/// finds silent ranks, and the others find a silent rank 0. Who finds one tells all; the first to be found
/// counts. It has a link of its own, and depends on nothing else that a rank does. One thread uses it.
class Heartbeats {
 public:
  /// @param link  takes messages of kMostBytes between any two ranks
  Heartbeats(std::unique_ptr<comm::Link> link, int rank, int ranks, double now_s);

  static constexpr std::size_t kMostBytes = 16;

  /// Sends and receives signs; must be called several times a second.
  /// @param lost_after_s  silence after which a rank hangs (longest_silence_s)
  /// @param listens       false if a silence does not matter now
  void exchange(double now_s, double lost_after_s, bool listens);
  /// Notes that this rank wants the job to stop; the other ranks will hear of it.
  void stop() { stops_ = true; }
  /// Returns whether a rank wants the job to stop.
  bool stops() const { return stops_; }
  const std::optional<HungRank>& hung() const { return hung_; }

  /// Returns whether this rank ends the job: it is rank 0, or rank 1 if rank 0 hangs. @pre hung()
  bool leads() const { return rank_ == leader(); }
  /// Tells the rank that leads that this one has saved what it can. @pre hung()
  void tell_saved();
  /// Returns how many ranks have not told this one that they have saved, besides the one that hangs.
  int unsaved() const { return ranks_ - 1 - static_cast<int>(saved_.size()); }

 private:
  enum class Kind : int { kAlive, kHangs, kSaved };
  struct Sign;
  int leader() const { return hung_->rank == comm::kCoordinator ? 1 : comm::kCoordinator; }
  void send(int to, Kind kind);
  void receive(const comm::LinkMessage& message, double now_s);

  std::unique_ptr<comm::Link> link_;
  const int rank_;
  const int ranks_;
  FailureDetector watch_;  // on rank 0 of all ranks, elsewhere of rank 0
  double told_alive_s_ = 0;
  bool stops_ = false;
  std::optional<HungRank> hung_;
  std::set<int> saved_;
};

}  // namespace skyline::engine
