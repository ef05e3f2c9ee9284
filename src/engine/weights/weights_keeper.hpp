#pragma once

#include "engine/loop/run.hpp"
#include "engine/slots/slot_pool.hpp"
#include "engine/weights/parent_exchange.hpp"
#include "engine/weights/recent_weights.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace skyline::engine {

/// What children of this rank's trials start from without reading a file; nullptr if no trial inherits.
std::shared_ptr<RecentWeights> make_recent_weights(const RunInputs& inputs);

/// Writes the weights of this rank's trials through its storage thread. Empty for KeepWeights::kNone.
/// `inputs` outlives the sink.
/// @param recent  keeps those of search trials too; nullptr: nobody does
WeightsSink make_weights_sink(const RunInputs& inputs, std::shared_ptr<RecentWeights> recent);

/// The weights that this rank's trials start from: from `recent` if they are there, else from the memory of
/// the rank that trained them, else read through the storage thread, with copies in the node's folder. Waits
/// in the slot's thread, with growing pauses and a bound, for a file that does not show yet or cannot be read
/// now. Empty if no trial inherits. `inputs` outlives the source.
/// @param exchange  nullptr: other ranks' weights are read from files
WeightsSource make_weights_source(const RunInputs& inputs, std::shared_ptr<RecentWeights> recent,
                                  std::shared_ptr<ParentExchange> exchange);

/// Removes the node's copies; for the node's first rank, when no rank reads any more.
void remove_weights_copies(const RunInputs& inputs);

/// Rank 0: removes the weights of search trials that are not wanted any more, full trainings of the same
/// architecture included, as soon as no trial in flight starts from them. A replay comes to the same state.
class WeightsRemoval {
 public:
  /// `inputs` outlives the object.
  explicit WeightsRemoval(const RunInputs& inputs);
  void asked(const trial::Trial& trial);
  void committed(const trial::Trial& trial);
  void drop(const trial::Trial& trial);
  /// Until here removals were only noted: most were done by an earlier job. Removes what is still there.
  void replay_ended();

 private:
  void remove(space::ArchId arch);

  const RunInputs& inputs_;
  bool replaying_;
  std::set<std::string> unwanted_;                       // that the replay dropped
  std::map<trial::TrialNumber, std::size_t> heirs_;      // in flight, by whom they inherit from
  std::map<trial::TrialNumber, space::ArchId> dropped_;  // that wait for their heirs
};

}  // namespace skyline::engine
