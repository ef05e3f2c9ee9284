#pragma once

#include "comm/link.hpp"
#include "engine/dispatch/failure_detector.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <set>

namespace skyline::engine {

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
