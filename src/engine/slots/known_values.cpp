#include "engine/slots/known_values.hpp"

#include "skyline/core/error.hpp"

#include "store/journal/trial_json.hpp"

#include <algorithm>
#include <utility>

namespace skyline::engine {

bool asks_before(const std::vector<trial::Metric>& metrics) {
  return std::ranges::any_of(metrics, &trial::Metric::is_before);
}

KnownValues::KnownValues(std::shared_ptr<RankValues> rank, const trial::Trial& trial)
    : rank_(std::move(rank)), trial_(trial), provenance_(store::provenance(trial, rank_->files.stamp())) {
  const RunFiles& files = rank_->files;
  try {
    values_ = store::read_known_values(files.paths, trial.name(), provenance_, files.header.metrics);
  } catch (const Problem& problem) {
    rank_->warning->warn(std::string(problem.what()) + "; programs of trials are asked and report again");
  }
}

trial::EarlyValues::ByMetric KnownValues::of_search() const {
  if (!trial_.is_final()) return {};
  try {
    return store::read_searched_values(rank_->files.paths, trial_);
  } catch (const Problem& problem) {
    rank_->warning->warn(std::string(problem.what()) + "; programs of full trainings are asked again");
    return {};
  }
}

void KnownValues::keep(const std::string& metric, double value) {
  values_.early[metric] = value;
  write();
}

void KnownValues::keep(trial::StepValues step) {
  values_.steps.push_back(std::move(step));
  write();
}

/// A file that cannot be written costs time at most: the next attempt asks, and has its trainer report,
/// again.
void KnownValues::write() const {
  try {
    store::write_known_values(rank_->files.paths, trial_.name(), provenance_, values_,
                              rank_->files.header.metrics);
  } catch (const Problem& problem) {
    rank_->warning->warn("trial " + to_text(trial_.name()) + ": " + problem.what() +
                         "; if it is resumed, what was known of it may be missing");
  }
}

void KnownValuesRemoval::committed(const run::Commit& commit, const run::RunState& state) {
  if (commit.replayed && !asks_) return;
  const trial::Trial& committed = commit.trial->trial;
  if (committed.is_final() || !asks_) {
    unneeded_.push_back(committed.name());
  } else if (!keeps_search_) {
    for (const trial::TrialNumber number : state.left_behind()) unneeded_.push_back({number});
  }
  if (commit.replayed || unneeded_.empty()) return;
  files_.storage.post([&files = files_, warning = warning_, trials = std::exchange(unneeded_, {})] {
    for (const trial::TrialName trial : trials) {
      try {
        store::remove_known_values(files.paths, trial);
      } catch (const Problem& problem) {
        warning->warn(problem.what());
      }
    }
  });
}

}  // namespace skyline::engine
