#pragma once

#include "skyline/search/searcher.hpp"

#include "run/run_state.hpp"

#include <cstddef>
#include <map>
#include <utility>
#include <variant>
#include <vector>

namespace skyline::engine {

/// The committed trials that a later one may continue: their last states must be kept until then. It depends
/// only on what was asked for and committed, so a replay gives the same.
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

  /// Returns, once, the trials that nobody continues or will continue: they failed, or the searcher is done
  /// with them. At the end of the search it also returns trials that an extended run could train again from
  /// the start; these are kept if they began with weights that exist only for them. With many trials it looks
  /// again only when their number has doubled, because looking at all of them after each commit would be
  /// quadratic.
  /// @param searcher  nullptr if the search is over
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
  std::size_t next_look_ = 0;                             // number of open trials at which it looks again
  std::map<trial::TrialNumber, std::size_t> continuing_;  // trials in flight, by the trial that they continue
};

}  // namespace skyline::engine
