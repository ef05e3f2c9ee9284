#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace skyline::engine {

/// Seconds between two signs of life that ranks give, when there is nothing else to say.
inline constexpr double kSignOfLife_s = 1;

/// Seconds of a clock that never jumps.
double steady_now_s();

/// A rank's process, as another rank sees it.
struct RankProcess {
  std::uint64_t place = 0;        // hash of process_place(): where the number means this process
  std::uint64_t start_ticks = 0;  // tells it from a later process of the same number
  pid_t number = 0;

  static RankProcess own();
  /// Whether it has ended; false if it is not of `observer`'s place, where nobody can tell.
  bool has_ended(const RankProcess& observer) const;
  /// Kills it, if it is of `observer`'s place and still there. @return  whether it was
  bool kill(const RankProcess& observer) const;
};

/// Finds the ranks that have died or fallen silent. It is told of every message and asked again and again; a
/// long time between two questions is a pause of this process itself, for which nobody is blamed.
class RankWatch {
 public:
  /// @param watched   processes, by rank
  /// @param limit_s   the longest silence
  /// @param has_died  whether something else knows that a rank's process has ended
  RankWatch(std::vector<RankProcess> watched, double limit_s, double now_s,
            std::function<bool(std::size_t)> has_died);

  void heard(std::size_t rank, double now_s) { heard_s_[rank] = now_s; }
  struct Loss {
    std::size_t rank = 0;
    std::string cause;  // "its process has ended"
    bool ends = false;  // has ended, or ends by itself; else it may come back
  };
  /// Ranks that are lost since the last call; cheap, as it looks twice a second.
  std::vector<Loss> losses(double now_s);
  /// Not watched any more: it has said goodbye.
  void leave(std::size_t rank) { states_[rank] = State::kGone; }

 private:
  /// kEnded: its goodbye may be on its way still.
  enum class State : std::uint8_t { kThere, kEnded, kGone };

  const RankProcess own_ = RankProcess::own();
  const std::vector<RankProcess> watched_;
  const double limit_s_;
  const std::function<bool(std::size_t)> has_died_;
  double last_look_s_;
  std::vector<double> heard_s_;
  std::vector<State> states_;
};

}  // namespace skyline::engine
