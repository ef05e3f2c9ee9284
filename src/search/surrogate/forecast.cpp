#include "search/surrogate/forecast.hpp"

#include "skyline/core/error.hpp"

#include "search/surrogate/lanes.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace skyline::search {

namespace {

constexpr std::size_t kSpareRows = 64;  // room for new points, where a vector would double its own

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
  std::map<Eigen::Index, Group> to_extend;  // by the rows that are there
  std::vector<double*> solved;
  ++call_;
  for (std::size_t place = 0; place < keys.size(); ++place) {
    Kept& kept = kept_[keys[place]];
    if (kept.call != call_) {
      const Eigen::Index rows = rows_that_hold(kept);
      const auto length = static_cast<std::size_t>(whole_lanes(size));
      kept.solved.resize(static_cast<std::size_t>(rows));
      if (kept.solved.capacity() < length) kept.solved.reserve(length + kSpareRows);
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
  forget_the_oldest();
  return prediction;
}

/// Stamps rise, and a row keeps its stamp as long as no row before it changes.
Eigen::Index Forecast::rows_that_hold(const Kept& kept) const {
  const auto end = std::upper_bound(process_.stamps_.begin(), process_.stamps_.end(), kept.stamp);
  return end - process_.stamps_.begin();
}

void Forecast::forget_the_oldest() {
  std::size_t bytes = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> calls_and_keys;
  for (const auto& [key, kept] : kept_) {
    bytes += sizeof(Kept) + kept.solved.capacity() * sizeof(double);
    calls_and_keys.emplace_back(kept.call, key);
  }
  if (bytes <= most_bytes_) return;
  std::sort(calls_and_keys.begin(), calls_and_keys.end());
  for (const auto& [call, key] : calls_and_keys) {
    if (bytes <= most_bytes_) return;
    const auto oldest = kept_.find(key);
    bytes -= sizeof(Kept) + oldest->second.solved.capacity() * sizeof(double);
    kept_.erase(oldest);
  }
}

}  // namespace skyline::search
