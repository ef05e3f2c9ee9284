#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/trial/trial.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace skyline::search {

/// The proposals of an ask, and how far the searcher has come with it.
struct Answer {
  enum class State {
    kAnswered,  // fewer proposals than asked for: it must be told results first, or is finished
    kMore,      // it has looked at many networks, and is to be asked for the rest at once
    kBusy       // it thinks on a thread of its own, and is to be asked for the rest after a pause
  };
  std::vector<trial::Proposal> proposals;
  State state = State::kAnswered;
};

/// A search algorithm: one file each; knows nothing of ranks, files or time. The sequence of its proposals
/// depends on its seed and on what it was told, in order, alone: that is what makes a resume a replay. It
/// must not depend on how often or when it was asked, nor on how long it thought.
///
/// All functions are called by one thread, which serves all ranks and must not wait: an ask returns within
/// some milliseconds. The destructor of a searcher that thinks on a thread of its own tells that thread to
/// end and waits for it.
class Searcher {
 public:
  virtual ~Searcher() = default;
  /// Returns up to `room` new proposals. As long as the state is not kAnswered and the room is not filled, it
  /// is asked again for what is left of the room, and nothing else of it is called but needs_results() and
  /// stop(). Results that come meanwhile are told later, each before the ask that would have followed it if
  /// every ask had been answered at once.
  /// A proposal says what is to be trained, with which budget and from which start; it meets the computed
  /// constraints, and was not made before (CandidatePool sees to both). If trials inherit, one that names
  /// parents and starts fresh is started from the weights of one of them; its origin plays no part in that.
  /// What it throws ends the run.
  virtual Answer ask(std::size_t room) = 0;
  /// Takes a result. Results come in the order of commits; failures too.
  virtual void tell(const trial::CommittedTrial& committed) = 0;
  /// The run stops: it is asked nothing more, and should leave what it thinks about. Called at most once.
  virtual void stop() {}
  /// Whether a later ask may continue this committed trial, whose horizon is larger than its budget. Once no,
  /// never again: the trial's state is removed then, and at the end of the search if it began fresh.
  /// Asked after each ask that is answered.
  virtual bool may_continue(trial::TrialNumber /*number*/) const { return true; }
  /// Whether its proposals depend on what it was told. One that needs no results is asked for more while
  /// trials are under way, with `window: generation` too; without another window it is told results between
  /// asks that answer kMore, too.
  virtual bool needs_results() const { return true; }
  /// Returns how many trials it proposes at most before it must be told all their results, or nullopt if it
  /// never waits for all results. Used only to warn about idle slots.
  virtual std::optional<std::size_t> generation() const { return std::nullopt; }
  /// Returns whether nothing more will be proposed. Results of some proposals may still be missing.
  virtual bool finished() const = 0;
  /// Returns the reason for finishing as one clause for the log ("5 iterations done", "all 151 valid
  /// architectures were evaluated").
  virtual std::string finish_reason() const = 0;
  /// Returns an upper bound of the number of trials, for progress and ETA.
  virtual std::size_t expected_trials() const = 0;
  /// One line about how it goes, for status and report, e.g. how good a model is; empty: nothing to say.
  virtual std::string remark() const { return {}; }
};

}  // namespace skyline::search
