#pragma once

#include "skyline/space/search_space.hpp"

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <Eigen/Core>

namespace skyline::search {

/// Returns what a model is fitted to for these values, of which the greatest is the best: half the normal
/// quantile of a value's rank, half its distance from the mean in deviations, at most 2 either way; the mean
/// of all is 0. Equal values have equal targets, and a greater value has a greater one.
Eigen::VectorXd surrogate_targets(const Eigen::VectorXd& values);

/// What a trial says about a number that a model learns.
struct RungResult {
  std::optional<double> value;  // no value if it failed; infinite ones count as 1e100
  double budget = 0;            // same unit as ModelPoint::budget
  space::ArchId id{};
};

/// The targets of a process that learns from trials of several budgets. The results of a budget are
/// standardised among themselves, since accuracies grow with the budget. Those who were continued are no
/// random sample, so they are then moved to where the same architectures were with the budget before, and
/// spread as these were, with one result's worth of faith in the spread of all.
struct RungTargets {
  enum class Kind {
    kObjective,  // more is better: uses ranks, too (surrogate_targets); a failure counts as the worst
    kNumber      // standardised by mean and deviation; a failure counts as the mean
  };
  /// @param results  in any order of budgets
  RungTargets(std::span<const RungResult> results, Kind kind);

  Eigen::VectorXd values;   // value of each result; a failure has the value that it counts as
  Eigen::VectorXd targets;  // target of each result
  double offset = 0;        // a kNumber of the largest budget so far is offset + scale * target
  double scale = 1;

 private:
  void add_rung(std::span<const RungResult> results, const std::vector<Eigen::Index>& members, Kind kind,
                std::unordered_map<space::ArchId, double>& earlier);
  void place(Eigen::VectorXd& its, const std::vector<double>& before);
};

}  // namespace skyline::search
