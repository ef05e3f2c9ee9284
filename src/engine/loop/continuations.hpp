#pragma once

#include "skyline/search/searcher.hpp"

#include "run/run_state.hpp"

#include <cstddef>
#include <map>
#include <utility>
#include <variant>
#include <vector>

namespace skyline::engine {

/// The committed trials that a later one may continue: their last states must stay until then. A function of
/// what was asked and committed, so that a replay comes to the same.
class Continuations {
 public:
  void asked(const trial::Trial& trial) {
    if (const trial::Continue* earlier = trial.continues()) ++continuing_[earlier->from];
  }

  void committed(const run::SharedTrial& committed) {
    const trial::Trial& trial = committed->trial;
    if (trial.may_be_continued()) open_.emplace(trial.number, committed);
    if (trial.continues() == nullptr) return;
    const auto found = continuing_.find(trial.continues()->from);
    if (--found->second == 0) continuing_.erase(found);
  }

  /// Gives out, once, those that nobody continues and nobody will: they failed, or the searcher has done with
  /// them. At the end of the search also those that an extended run can begin anew, which is not so if they
  /// began with the weights of a trial that only stay for them. Where there are many, it looks when they have
  /// doubled: a look at all of them after each commit would be quadratic.
  /// @param searcher  nullptr: the search is over
  std::vector<run::SharedTrial> release(const search::Searcher* searcher) {
    std::vector<run::SharedTrial> released;
    if (searcher != nullptr && open_.size() < next_look_) return released;
    for (auto place = open_.begin(); place != open_.end();) {
      const bool failed = std::holds_alternative<trial::Failure>(place->second->outcome);
      const bool wanted = searcher != nullptr ? searcher->may_continue(place->first)
                                              : place->second->trial.inherits() != nullptr;
      if ((wanted && !failed) || continuing_.contains(place->first)) {
        ++place;
      } else {
        released.push_back(std::move(place->second));
        place = open_.erase(place);
      }
    }
    next_look_ = open_.size() < kFew ? 0 : 2 * open_.size();
    return released;
  }

 private:
  static constexpr std::size_t kFew = 64;

  std::map<trial::TrialNumber, run::SharedTrial> open_;
  std::size_t next_look_ = 0;                             // so many are open then
  std::map<trial::TrialNumber, std::size_t> continuing_;  // in flight, by whom they continue
};

}  // namespace skyline::engine
