#pragma once

#include <cstddef>
#include <vector>

namespace skyline::train {

/// Finds out how many candidates a device should train at once: as many as raise their total work per second.
/// Doubles the number while that pays, then tries one more or one less now and then. Judges by windows of
/// time at one limit, without the first window after a change, so that starting candidates count as little as
/// in the long run. Plain logic that is told the time. Not thread-safe.
class ConcurrencyController {
 public:
  /// @param most  the limit never exceeds it; at least 1
  explicit ConcurrencyController(std::size_t most);

  /// How many may train now. When the limit falls, running candidates are not interrupted.
  std::size_t limit() const { return limit_; }
  /// Reports that `count` candidates train. @param now_s  never falls
  void running(double now_s, std::size_t count);
  /// Reports `work` that a candidate did since its last report.
  void worked(double now_s, double work);

 private:
  void begin_window(double now_s);
  void advance(double now_s);
  void close_window(double now_s);
  void judge(double rate);
  void judge_base(double rate);
  void judge_probe(double rate);
  void try_limit(std::size_t limit);
  void back_to_base();
  std::size_t next_probe();

  std::size_t most_;
  std::size_t limit_;
  std::size_t base_;           // the best known limit; limit_ differs while another one is tried
  double base_rate_ = 0;       // work per second at base_, as last judged
  bool climbing_ = true;       // the limit still grows by doubling
  bool upward_ = true;         // the next probe's direction
  std::size_t hold_ = 0;       // judgements of the base before the next probe
  std::size_t next_hold_ = 0;  // grows while probes fail

  double window_began_s_ = 0;
  double last_s_ = 0;
  std::size_t count_ = 0;
  double count_seconds_ = 0;  // integral of the count over the window
  double work_ = 0;
  std::size_t reports_ = 0;
  std::size_t unfilled_ = 0;   // windows in a row with too few candidates for a judgement
  bool settling_ = true;       // the first window after a change
  std::vector<double> rates_;  // work per second of the windows since then
};

}  // namespace skyline::train
