#pragma once

#include "skyline/engine/run.hpp"
#include "skyline/store/storage_thread.hpp"

#include "engine/slot_pool.hpp"

namespace skyline::engine {

/// Writes the weights of this rank's trials through its storage thread. Empty for KeepWeights::kNone.
/// `inputs` and `storage` outlive the sink and its callbacks.
WeightsSink make_weights_sink(const RunInputs& inputs, store::StorageThread& storage);

/// Rank 0: removes the weights of an architecture that is not wanted any more, if there are any.
void remove_weights(const RunInputs& inputs, store::StorageThread& storage, space::ArchId arch);

}  // namespace skyline::engine
