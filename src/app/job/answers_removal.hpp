#pragma once

#include "run/run_state.hpp"
#include "store/publish/storage_thread.hpp"

#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

namespace skyline::app {

/// Removes, on rank 0, what programs said before the trainings of trials, once nobody needs it: for a search
/// trial when it left the front for ever, because a full training takes its answers; for a full training when
/// its result is in the journal.
class AnswersRemoval final : public run::RunListener {
 public:
  /// @param run  folder of the run
  /// @param keeps_search  whether trials that are not on the front may be trained in full
  AnswersRemoval(std::filesystem::path run, store::StorageThread& storage, bool keeps_search)
      : run_(std::move(run)), storage_(storage), keeps_search_(keeps_search) {}
  /// What a replay finds goes with the next new commit.
  void committed(const run::Commit& commit, const run::RunState& state) override;

 private:
  const std::filesystem::path run_;
  store::StorageThread& storage_;
  const bool keeps_search_;
  std::vector<trial::TrialName> unneeded_;
  std::shared_ptr<bool> warned_ = std::make_shared<bool>(false);  // used by the storage thread only
};

}  // namespace skyline::app
