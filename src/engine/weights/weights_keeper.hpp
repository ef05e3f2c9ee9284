#pragma once

#include "engine/slots/slot_pool.hpp"
#include "engine/weights/parent_exchange.hpp"
#include "engine/work/engine_options.hpp"
#include "engine/work/run_files.hpp"
#include "run/run_state.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace skyline::engine {

/// Makes a sink that writes the weights of this rank's trials through its storage thread. The referenced
/// objects must outlive the sink.
/// @param recent  keeps those of search trials too; may be nullptr
WeightsSink make_weights_sink(const RunFiles& files, const space::SearchSpace& space,
                              std::shared_ptr<RecentWeights> recent);

/// Makes the source of the weights that this rank's trials start from: `recent` if they are there, else the
/// memory of the rank that trained them, else the run folder, read through the storage thread. It waits in
/// the slot's thread, with growing pauses and a limit, for a file that does not show yet or cannot be read
/// now. `files` must outlive the source.
/// @param exchange  nullptr if other ranks' weights are to be read from files
/// @param inherit_key  see EngineOptions
WeightsSource make_weights_source(const RunFiles& files, std::shared_ptr<RecentWeights> recent,
                                  std::shared_ptr<ParentExchange> exchange, std::string inherit_key);

/// Removes, on rank 0, what trials left and nobody needs any more. A replay ends in the same state.
/// - If only the fronts' weights are kept: the weights of a search trial that left the front, when no trial
///   that starts from them is in flight or may be continued; those of a full training whose trial left both
///   fronts.
/// - If trials leave folders in place of weights: a folder by the same rule, but not while its own trial may
///   be continued.
/// - If nothing is kept: a folder, when no later trial can continue its trial.
class WeightsRemoval final : public run::RunListener {
 public:
  /// `files` must outlive the object.
  /// @param replayed  number of lines of the journal. During their replay removals are only noted, because an
  ///                  earlier job did most of them; the remaining files are then removed
  /// @param resume    an earlier job may have left weights of trials that fail in this one
  /// @param folders   trials leave folders
  /// @param rivals    trials on neither front are trained in full, too, and repeats may bring them to the
  /// final
  ///                  one: full trainings keep their weights
  WeightsRemoval(const RunFiles& files, KeepWeights keep, std::size_t replayed, bool resume,
                 bool folders = false, bool rivals = false);
  void asked(const trial::Trial& trial) override;
  void committed(const run::Commit& commit, const run::RunState& state) override;
  /// Until now a trial that continues this one might have had to begin where it began.
  void released(const trial::Trial& trial) override;

 private:
  void drop(trial::TrialNumber number);
  void release_parent(const trial::Trial& trial);
  void release(trial::TrialNumber number);
  void end_replay();
  void remove(trial::TrialName name);

  const RunFiles& files_;
  const KeepWeights keep_;
  const std::size_t replayed_;
  const bool resume_;
  const bool folders_;
  const bool rivals_;
  bool replaying_;
  std::set<trial::TrialName> unwanted_;              // trials that the replay dropped
  std::map<trial::TrialNumber, std::size_t> heirs_;  // number of trials in flight or to be continued, by
                                                     // their parents; a folder may be continued itself
  std::set<trial::TrialNumber> dropped_;             // trials that wait for their heirs
};

}  // namespace skyline::engine
