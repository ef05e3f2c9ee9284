#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/trial/trial.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace skyline::search {

/// The answer to an ask: proposals, and the state of the searcher.
struct Answer {
  enum class State {
    kAnswered,  // fewer proposals than asked for: it must be told results first, or is finished
    kMore,      // it has looked at many networks; ask for the rest at once
    kBusy       // it thinks on a thread of its own; ask for the rest after a pause
  };
  std::vector<trial::Proposal> proposals;
  State state = State::kAnswered;
};

/// How many threads may think at this moment.
using ThreadCount = std::function<std::size_t()>;

/// A search algorithm, one file each. It knows nothing of ranks, files or time. The sequence of its proposals
/// depends only on its seed and on the results that it was told, in order; a resume is a replay because of
/// this. The sequence must not depend on how often or when it was asked, nor on how long it thought.
///
/// One thread calls all functions. It serves all ranks and must not wait, so an ask returns within some
/// milliseconds. If a searcher thinks on a thread of its own, its destructor tells that thread to end and
/// waits for it.
class Searcher {
 public:
  virtual ~Searcher() = default;
  /// Returns up to `room` new proposals. If there are fewer and the answer's state is not kAnswered, ask() is
  /// called again for the rest. In between only needs_results() and stop() are called. Results that arrive
  /// meanwhile are told later, so that every ask follows the same results as if each had been answered at
  /// once.
  ///
  /// A proposal contains what is to be trained, with which budget and from which start. It meets the computed
  /// constraints and was not made before (CandidatePool ensures both). If trials inherit, a proposal that
  /// names parents and starts fresh is started from the weights of one of them, whatever its origin is. An
  /// exception ends the run.
  virtual Answer ask(std::size_t room) = 0;
  /// Takes the next proposal as an earlier job recorded it, instead of being asked for it, when a run is
  /// resumed. Afterwards it must be as if it had made this proposal. Called only where ask() might be, and
  /// once all earlier proposals are made. Returns false if it must be asked; the run is then refused if it
  /// proposes something else. A searcher that thinks long should accept, since a resume is fast then, and
  /// since other processors may compute other last bits.
  virtual bool accept(const trial::Proposal& /*recorded*/) { return false; }
  /// Takes a result. Results come in the order of commits; failures too.
  virtual void tell(const trial::CommittedTrial& committed) = 0;
  /// Takes the mean of the repeats of a trial (`search.repeats`) in place of its result.
  /// @param count  number of results of which it is the mean, at least 1
  virtual void tell_mean(const trial::CommittedTrial& mean, std::size_t /*count*/) { tell(mean); }
  /// Called after a trial was told that was not trained (trial::Extent::kOutside), as long as its limit of
  /// trials may grow: that trial has no place among them.
  virtual void allow_one_more() {}
  /// Called at most once, before the first ask. A searcher that thinks may then compute on as many threads as
  /// `threads` returns at that moment, at least 1; what it proposes is the same.
  /// @param threads  may be called by any thread, as long as the searcher lives
  virtual void think_on(ThreadCount /*threads*/) {}
  /// Called at most once, when the run stops. It is asked nothing more, and should stop thinking.
  virtual void stop() {}
  /// Returns whether a later ask may continue this committed trial, whose horizon is larger than its budget.
  /// Once false, it must stay false: the trial's state is removed then, and at the end of the search if it
  /// began fresh. Called after each answered ask.
  virtual bool may_continue(trial::TrialNumber /*number*/) const { return true; }
  /// Returns whether its proposals depend on results. If not, it is asked for more while trials are in
  /// flight, even with `window: generation`. Without another window it is then also told results between asks
  /// that answer kMore.
  virtual bool needs_results() const { return true; }
  /// Returns how many trials it proposes at most before it must be told all their results, or nullopt if it
  /// never waits for all results. Used only to warn about idle slots.
  virtual std::optional<std::size_t> generation() const { return std::nullopt; }
  /// Returns whether nothing more will be proposed. Results of some proposals may still be missing.
  virtual bool finished() const = 0;
  /// Returns the reason for finishing as one clause for the log ("5 iterations done", "all 151 valid
  /// architectures were evaluated").
  virtual std::string finish_reason() const = 0;
  /// Returns whether it finished because it found nothing more to propose, although there may be more. Such a
  /// run does not end as done: its exit code is 3.
  virtual bool gave_up() const { return false; }
  /// Returns an upper bound of the number of trials, for progress and ETA.
  virtual std::size_t expected_trials() const = 0;
  /// Returns one line about its progress for status and report, e.g. how good a model is; empty for none.
  virtual std::string progress_summary() const { return {}; }
};

}  // namespace skyline::search
