#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/trial/trial.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace skyline::search {

/// A search algorithm: one file each; knows nothing of ranks, files or time. The sequence of its proposals
/// depends on its seed and on what it was told, in order, alone: that is what makes a resume a replay.
class Searcher {
 public:
  virtual ~Searcher() = default;
  /// Returns up to `room` new proposals; fewer, or none, when it must be told results first or is finished.
  /// A proposal says what is to be trained, with which budget and from which start; it meets the computed
  /// constraints, and was not made before (CandidatePool sees to both). If trials inherit, one that names
  /// parents and starts fresh is started from the weights of one of them; its origin plays no part in that.
  virtual std::vector<trial::Proposal> ask(std::size_t room) = 0;
  /// Takes a result, in the order of commits; failures too.
  virtual void tell(const trial::CommittedTrial& committed) = 0;
  /// Whether a later ask may continue this committed trial, whose horizon is larger than its budget. Once no,
  /// never again: the trial's state is removed then, and at the end of the search if it began fresh.
  /// Asked after each ask.
  virtual bool may_continue(trial::TrialNumber /*number*/) const { return true; }
  /// Whether the last ask ended early because it had looked at many networks: the searcher is to be asked
  /// again before it is told anything. So an ask never takes long. Proposals must not depend on how many asks
  /// they take.
  virtual bool is_thinking() const { return false; }
  /// Whether its proposals depend on what it was told. One that needs no results is asked for more while
  /// trials are under way, with `window: generation` too.
  virtual bool needs_results() const { return true; }
  /// How many trials it asks for, at most, before it must be told the results of all of them; nothing: it
  /// goes on with the results that there are. For warnings.
  virtual std::optional<std::size_t> generation() const { return std::nullopt; }
  /// Whether nothing more will be asked (some asked trials may not have been told yet).
  virtual bool finished() const = 0;
  /// The reason for finishing, one clause for the log ("5 iterations done", "all 151 valid architectures were
  /// evaluated").
  virtual std::string finish_reason() const = 0;
  /// Upper bound of the number of trials, for progress and ETA.
  virtual std::size_t expected_trials() const = 0;
};

}  // namespace skyline::search
