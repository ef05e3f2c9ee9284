#include "train/sharing/concurrency_controller.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <utility>

namespace skyline::train {
namespace {

/// Every current device gains from the first few small candidates; with large ones the limit falls within
/// seconds.
constexpr std::size_t kFirstLimit = 4;

constexpr double kWindow_s = 0.2;
constexpr std::size_t kReports = 4;    // per window and candidate: each reports many steps at once
constexpr double kFilled = 0.75;       // share of the limit that must train on average for a judgement
constexpr std::size_t kUnfilled = 10;  // unfilled windows in a row after which a probe ends
constexpr std::size_t kJudged = 3;     // windows per judgement; their median counts
constexpr double kLeastGain = 0.02;    // gain of total work that each further candidate must bring
constexpr double kFall = 0.1;  // fall of total work at an unchanged limit after which fewer are tried at once
constexpr std::size_t kFirstHold = 8;  // judgements between probes, doubled by each that fails
constexpr std::size_t kMostHold = 128;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

ConcurrencyController::ConcurrencyController(std::size_t most)
    : most_(most), limit_(std::min(kFirstLimit, most)), base_(limit_), next_hold_(kFirstHold) {
  require(most >= 1, "no candidate may train");
}

void ConcurrencyController::running(double now_s, std::size_t count) {
  advance(now_s);
  count_ = count;
}

void ConcurrencyController::worked(double now_s, double work) {
  advance(now_s);
  work_ += work;
  ++reports_;
  if (now_s - window_began_s_ >= kWindow_s && reports_ >= kReports * limit_) close_window(now_s);
}

void ConcurrencyController::advance(double now_s) {
  count_seconds_ += static_cast<double>(count_) * (now_s - last_s_);
  last_s_ = now_s;
}

void ConcurrencyController::begin_window(double now_s) {
  window_began_s_ = now_s;
  count_seconds_ = 0;
  work_ = 0;
  reports_ = 0;
}

void ConcurrencyController::close_window(double now_s) {
  const double length_s = now_s - window_began_s_;
  const double average = count_seconds_ / length_s;
  const double rate = work_ / length_s;
  begin_window(now_s);
  const auto limit = static_cast<double>(limit_);
  const bool too_many =
      limit_ < most_ && average > limit + (1 - kFilled);  // some candidates began under a higher limit
  if (too_many) return;
  if (average < kFilled * limit) {
    rates_.clear();
    if (++unfilled_ >= kUnfilled && limit_ != base_) back_to_base();
    return;
  }
  unfilled_ = 0;
  if (std::exchange(settling_, false)) return;
  rates_.push_back(rate);
  if (climbing_ || rates_.size() == kJudged) judge(median(std::exchange(rates_, {})));
}

void ConcurrencyController::judge(double rate) {
  if (limit_ == base_) {
    judge_base(rate);
  } else {
    judge_probe(rate);
  }
}

void ConcurrencyController::judge_base(double rate) {
  const bool fell = rate < (1 - kFall) * base_rate_;
  base_rate_ = rate;
  if (climbing_ && base_ < most_) return try_limit(std::min(2 * base_, most_));
  climbing_ = false;
  if (fell) {
    upward_ = false;
    hold_ = 0;
  }
  if (hold_ > 0) {
    --hold_;
    return;
  }
  try_limit(next_probe());
}

/// The next limit to try: one more or one less, in turns, within the bounds.
std::size_t ConcurrencyController::next_probe() {
  if (most_ == 1) return base_;
  if (base_ == most_) upward_ = false;
  if (base_ == 1) upward_ = true;
  return upward_ ? base_ + 1 : base_ - 1;
}

void ConcurrencyController::judge_probe(double rate) {
  const double added = static_cast<double>(limit_) - static_cast<double>(base_);
  // Of equal totals fewer candidates are better: each takes memory and slows the others.
  const double least = added > 0 ? 1 + kLeastGain * added : 1 - kLeastGain / 2;
  if (rate >= least * base_rate_) {
    base_ = limit_;
    base_rate_ = rate;
    hold_ = 0;
    next_hold_ = kFirstHold;
    if (climbing_ && base_ < most_) try_limit(std::min(2 * base_, most_));
    return;
  }
  if (!climbing_) {
    hold_ = next_hold_;
    next_hold_ = std::min(2 * next_hold_, kMostHold);
    upward_ = !upward_;
  }
  climbing_ = false;
  back_to_base();
}

void ConcurrencyController::back_to_base() {
  try_limit(base_);
}

void ConcurrencyController::try_limit(std::size_t limit) {
  if (limit == limit_) return;
  limit_ = limit;
  settling_ = true;
  unfilled_ = 0;
  rates_.clear();
}

}  // namespace skyline::train
