#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/search/pruning.hpp"
#include "skyline/search/searcher.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/trial/evaluator.hpp"

#include "comm/environment.hpp"
#include "engine/work/engine_options.hpp"
#include "engine/work/run_files.hpp"
#include "run/account.hpp"
#include "run/run_state.hpp"

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace skyline::engine {

/// Makes a searcher when its turn has come, from the commits of the run so far.
using SearcherMaker = std::function<std::unique_ptr<search::Searcher>(const run::RunState& state)>;

/// A search space with its evaluator and searchers. The referenced objects must outlive the run.
struct SearchTask {
  const space::SearchSpace& space;
  const objective::ObjectiveSet& objectives;
  trial::Evaluator& evaluator;
  SearcherMaker search;         // used on rank 0
  SearcherMaker full_training;  // trains the front after the search; empty for none
  SearcherMaker refit = {};     // last trainings, of the final front; empty for none
  EngineOptions options;
  trial::Place place = {};    // place of this rank, without the evaluator's choices
  std::uint32_t repeats = 1;  // `search.repeats`
  std::optional<search::PruningOptions> pruning = {};
  bool trains_all = false;     // whether all trials are trained in full
  bool trains_rivals = false;  // whether some are that are on no front, by `final.members`
};

/// A rank hangs that the job cannot do without.
struct Hang {
  std::string reason;         // one line
  bool stops = false;         // whether the job was told to stop
  bool of_this_rank = false;  // it is awake again, and another rank ends the job
};

/// The ways in which a job may end before its run.
struct JobCallbacks {
  /// Polled by every rank's main thread; returns true once the run should stop early. One rank's true is
  /// enough. Empty for never.
  std::function<bool()> stop_requested = {};
  /// Called with an error before the slots are waited for, which may be in the middle of a long step; it may
  /// end the process. If it is empty, the error is thrown when the slots have stopped.
  std::function<void(const std::exception&)> failed = {};
  /// Polled as well; says why the job must end without the rank that hangs. The running trials then save
  /// their state for a while, and `failed` is called. Empty for never.
  std::function<std::optional<Hang>()> hang = {};
  /// Called when the start is over; ranks that die later are found by the engine.
  std::function<void()> has_begun = {};
  /// Called when all ranks have written their files.
  std::function<void()> has_ended = {};
};

struct RunResult {
  run::RunState state;  // on rank 0 the state of the whole run; empty elsewhere
  run::RunAccount account;
  std::string finish_reason;
  bool gave_up = false;         // the search found nothing more to propose, although there may be more
  bool stopped = false;         // stopped on request; a later job with `resume` continues
  std::size_t unsaved = 0;      // trials that were stopped and whose last state could not be saved
  std::size_t begin_again = 0;  // trials that were stopped and whose evaluator saves no state
  bool progress = false;        // this job has committed a trial, or saved a result or a state of one
  std::map<std::string, std::string> retired = {};  // hosts that got no more trials, with the reason
};

/// Runs one job of a run, from its start to the end of the run or a stop. Rank 0 asks the searcher,
/// dispatches, commits and tells; every rank trains. Collective.
/// @param replay     on rank 0: the journal to continue
/// @param listeners  on rank 0: called after the journal
/// @throws UserError, InternalError; the caller reports and ends all ranks (Environment::abort)
RunResult run_job(comm::Environment& environment, const SearchTask& task, const RunFiles& files,
                  const JobCallbacks& end, std::optional<store::JournalContents> replay = {},
                  const std::vector<run::RunListener*>& listeners = {});

}  // namespace skyline::engine
