#pragma once

#include "skyline/search/searcher.hpp"

#include "core/clock.hpp"
#include "engine/loop/commit_order.hpp"
#include "engine/loop/replay.hpp"
#include "engine/loop/trial_maker.hpp"
#include "engine/work/dispatcher.hpp"
#include "run/run_state.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
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

/// The main loop of a run: ask, submit, poll, commit, tell. It knows no file, no rank and no terminal; replay
/// of a journal is the same loop with recorded results.
///
/// While the searcher thinks about an ask, trials are committed, but it is not told of them. When it has
/// answered, it is told of these commits one by one, with an ask after each. Each ask may be answered with as
/// many trials as if every earlier ask had been answered immediately. So what the searcher knows at an ask
/// does not depend on times.
class SearchLoop {
 public:
  using Listeners = std::vector<run::RunListener*>;

  /// The referenced objects must outlive the loop.
  /// @param state        gets every commit, before the listeners are called
  /// @param must_stop    called between steps, none of which is long: returns whether the run must stop, or
  ///                     is hopeless; throws to end it
  /// @param is_hopeless  returns whether nothing should be committed any more, because no trial will succeed;
  ///                     depends only on the commits; empty for never
  SearchLoop(TrialMaker& maker, Replay& replay, CommitOrder& order, Dispatcher& dispatcher, Clock& clock,
             run::RunState& state, Listeners listeners, std::function<bool()> must_stop,
             std::function<bool()> is_hopeless = {});

  /// Runs one searcher. Call it for one searcher after the other.
  /// @return  whether the searcher finished and all its trials are committed; otherwise the run stops, or is
  ///          hopeless
  bool run(search::Searcher& searcher, trial::Phase phase);
  /// Commits the lines of the journal that nobody asks for any more; call it after the last searcher.
  /// @throws UserError if the journal continues after the run's end
  void end_replay();
  /// Waits until ranks that did not lead the last trials' groups are done, too, and `done` returns true.
  void wind_down(const std::function<bool()>& done);

  /// Returns the number of trials that were stopped and whose last state could not be saved.
  std::size_t unsaved() const { return unsaved_; }
  /// Returns the number of trials that were stopped and whose evaluator saves no state.
  std::size_t begin_again() const { return begin_again_; }
  /// Returns whether a result arrived, or a stopped trial whose state was saved.
  bool saved() const { return saved_; }

 private:
  /// @param searcher  the searcher that runs now; nullptr if there is none
  void check_stop_and_tick(search::Searcher* searcher = nullptr);
  bool hopeless() const { return is_hopeless_ && is_hopeless_(); }
  bool is_unanswered(const search::Searcher& searcher) const;
  bool commits_wait(const search::Searcher& searcher) const;
  std::size_t room_for(const search::Searcher& searcher) const;
  bool ask(search::Searcher& searcher);
  std::vector<trial::Proposal> accepted(search::Searcher& searcher, std::size_t room) const;
  void begin_trials(std::vector<trial::Proposal> proposals);
  bool step(search::Searcher& searcher);
  bool collect();
  void arrived(Arrival arrival);
  std::optional<run::Commit> next();
  void commit(const run::Commit& commit);
  void tell(search::Searcher& searcher);
  std::optional<Arrival> known_result(const trial::Trial& trial);
  void release(const search::Searcher* searcher);

  TrialMaker& maker_;
  Replay& replay_;
  CommitOrder& order_;
  Dispatcher& dispatcher_;
  Clock& clock_;
  run::RunState& state_;
  Continuations continuations_;
  const Listeners listeners_;
  const std::function<bool()> must_stop_;
  const std::function<bool()> is_hopeless_;
  search::Answer::State answer_ = search::Answer::State::kAnswered;  // state of the last answer
  std::deque<run::SharedTrial> untold_;  // committed trials that the searcher asked for and was not told yet
  std::size_t unsaved_ = 0;
  std::size_t begin_again_ = 0;
  bool saved_ = false;
  std::size_t unanswered_ = 0;  // trials whose result has not arrived, or is in the journal and not committed
  bool stopping_ = false;
  bool unasked_ = false;  // there was room for more trials after the stop
  double next_tick_s_ = 0;
};

}  // namespace skyline::engine
