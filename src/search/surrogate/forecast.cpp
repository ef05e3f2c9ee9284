#include "search/surrogate/forecast.hpp"

#include "skyline/core/error.hpp"

#include "search/surrogate/lanes.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace skyline::search {

namespace {

/// Room is made for so many rows at a time. Blocks of few different sizes take the places of each other,
/// where others would leave holes in the heap.
constexpr std::size_t kRowsAtATime = 128;

}  // namespace

Prediction Forecast::predict(const Points& candidates, std::span<const std::uint64_t> keys) {
  const Eigen::MatrixXd points = process_.kernel_.encode(candidates);
  require(std::ssize(keys) == points.cols(), "candidates are forecast with one key for each");
  const Eigen::Index size = process_.factor_.size();
  require(size == process_.size(), "a model is asked before it is fitted");
  struct Group {
    std::vector<const double*> points;
    std::vector<double*> solved;
  };
  std::map<Eigen::Index, Group> to_extend;  // key: rows that are solved already
  std::vector<const double*> solved;
  ++call_;
  for (std::size_t place = 0; place < keys.size(); ++place) {
    Kept& kept = find(keys[place]);
    if (kept.call != call_) {
      const Eigen::Index rows = rows_that_hold(kept);
      const auto length = static_cast<std::size_t>(whole_lanes(size));
      kept.solved.resize(static_cast<std::size_t>(rows));
      bytes_ -= bytes_of(kept);
      if (kept.solved.capacity() < length) kept.solved.reserve((length / kRowsAtATime + 1) * kRowsAtATime);
      bytes_ += bytes_of(kept);
      kept.solved.resize(length, 0.0);
      if (size > 0) kept.stamp = process_.stamps_.back();
      kept.call = call_;
      Group& group = to_extend[rows];
      group.points.push_back(points.col(static_cast<Eigen::Index>(place)).data());
      group.solved.push_back(kept.solved.data());
    }
    solved.push_back(kept.solved.data());
  }
  for (const auto& [rows, group] : to_extend) process_.solve_for(group.points, group.solved, rows);
  Prediction prediction = process_.predict_from(solved);
  for (; bytes_ > most_bytes_; by_age_.pop_front()) {
    bytes_ -= bytes_of(by_age_.front());
    kept_.erase(by_age_.front().key);
  }
  return prediction;
}

/// Returns what is kept of a candidate, which is now the last to be forgotten.
Forecast::Kept& Forecast::find(std::uint64_t key) {
  const auto [found, is_new] = kept_.try_emplace(key);
  if (is_new) {
    found->second = by_age_.insert(by_age_.end(), Kept{key, {}});
    bytes_ += bytes_of(*found->second);
  }
  by_age_.splice(by_age_.end(), by_age_, found->second);
  return *found->second;
}

std::size_t Forecast::bytes_of(const Kept& kept) {
  return sizeof(Kept) + kept.solved.capacity() * sizeof(double);
}

/// Stamps rise, and a row keeps its stamp as long as no row before it changes.
Eigen::Index Forecast::rows_that_hold(const Kept& kept) const {
  const auto end = std::upper_bound(process_.stamps_.begin(), process_.stamps_.end(), kept.stamp);
  return end - process_.stamps_.begin();
}

}  // namespace skyline::search
