#pragma once

#include "engine/work/run_files.hpp"
#include "run/run_state.hpp"

#include <cstddef>
#include <memory>

namespace skyline::engine {

/// Writes on rank 0, on the storage thread, which trials of a search with a window are in flight when one is
/// asked for (store::write_asked_trials). After a kill the next job takes them from there.
class AskedTrialsWriter final : public run::RunListener {
 public:
  /// `space` must outlive all jobs of the storage thread.
  /// @param replayed  number of lines of the journal; their trials are not written
  AskedTrialsWriter(const RunFiles& files, const space::SearchSpace& space, std::size_t replayed);
  void asked(const trial::Trial& trial) override;
  void committed(const run::Commit& commit, const run::RunState& state) override;
  /// Removes the file when the run is complete.
  void remove_file();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with queued jobs
  store::StorageThread& storage_;
  const std::size_t replayed_;
};

}  // namespace skyline::engine
