#include "engine/weights/weights_keeper.hpp"

#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"
#include "engine/slots/trial_folders.hpp"
#include "engine/work/run_files.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/retry_policy.hpp"
#include "store/weights/weights.hpp"
#include "trial/refit.hpp"
#include "trial/scope_timer.hpp"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

namespace skyline::engine {
namespace {

using InheritedFile = std::shared_ptr<const store::WeightsFile>;

/// Reads the weights that a trial inherits for its slot, in short jobs of the storage thread with pauses
/// between them. Returns nullptr if the trial was asked to stop meanwhile.
/// @throws UserError if the file is damaged, FaultError if it is unavailable for too long
InheritedFile read_inherited(const RunFiles& files, const trial::Trial& trial, const std::atomic<bool>& stop,
                             const std::string& inherit_key) {
  const trial::TrialNumber parent = trial.inherits()->from;
  store::WeightsReading reading{nullptr, "", true};
  const double waited_s = try_for(kVisibleAfter * store::patience_s(), stop, [&] {
    reading = call_storage<store::WeightsReading>(
        files.storage,
        [path = files.paths.weights({parent}), parent] { return store::try_weights(path, parent); });
    return reading.weights || !reading.is_transient;
  });
  if (!reading.is_transient && !reading.weights)
    throw UserError(no_start(trial, "weights", reading.problem, inherit_key));
  if (reading.weights || stop) return std::move(reading.weights);
  throw FaultError(no_start(
      trial, "weights", reading.problem + " after " + seconds_text(waited_s) + " of waiting", inherit_key));
}

}  // namespace

WeightsSink make_weights_sink(const RunFiles& files, const space::SearchSpace& space,
                              std::shared_ptr<RecentWeights> recent) {
  return [&files, &space, recent = std::move(recent)](const trial::Trial& trial,
                                                      std::vector<trial::NamedTensor> tensors,
                                                      std::string answers, std::function<void()> written) {
    auto file = std::make_shared<store::WeightsFile>(
        store::WeightsFile{trial.number, store::provenance(trial, files.stamp()),
                           space.describe(trial.architecture().genotype), std::move(tensors)});
    const auto path = files.paths.weights(trial.name());
    const auto answers_path = files.paths.answers(trial.name());
    if (recent && !trial.is_final()) recent->keep(file);
    const std::size_t bytes = tensor_bytes(*file);
    files.storage.submit(
        [path, file, answers_path, text = std::move(answers), done = std::move(written)] {
          if (!text.empty()) store::publish_file(answers_path, text);
          store::write_weights(path, *file);
          done();
        },
        bytes);
  };
}

WeightsSource make_weights_source(const RunFiles& files, std::shared_ptr<RecentWeights> recent,
                                  std::shared_ptr<ParentExchange> exchange, std::string inherit_key) {
  return [&files, inherit_key = std::move(inherit_key), recent = std::move(recent),
          exchange = std::move(exchange)](const trial::Trial& trial, const std::atomic<bool>& stop,
                                          trial::TrialTiming& timing) {
    InheritedFile file = recent ? recent->find(trial.inherits()->from) : nullptr;
    if (!file && exchange) {
      const trial::ScopeTimer timer(timing, &trial::TrialTiming::wait_ranks_s);
      file = exchange->ask(*trial.inherits(), stop);
    }
    if (!file) {
      const trial::ScopeTimer timer(timing, &trial::TrialTiming::wait_files_s);
      file = read_inherited(files, trial, stop, inherit_key);
    }
    using Tensors = std::shared_ptr<const std::vector<trial::NamedTensor>>;
    return file ? Tensors(file, &file->tensors) : nullptr;
  };
}

WeightsRemoval::WeightsRemoval(const RunFiles& files, KeepWeights keep, std::size_t replayed, bool resume,
                               bool folders, bool rivals)
    : files_(files),
      keep_(keep),
      replayed_(replayed),
      resume_(resume),
      folders_(folders),
      rivals_(rivals),
      replaying_(replayed > 0) {}

void WeightsRemoval::asked(const trial::Trial& trial) {
  unwanted_.erase(trial.name());  // it is trained once more
  if (trial.inherits()) ++heirs_[trial.inherits()->from];
}

void WeightsRemoval::committed(const run::Commit& commit, const run::RunState& state) {
  const trial::Trial& trial = commit.trial->trial;
  if (folders_ && trial.may_be_continued()) {
    ++heirs_[trial.number];
    if (keep_ == KeepWeights::kNone) drop(trial.number);
  }
  if (keep_ == KeepWeights::kFront) {
    const bool has_left_none = !trial::is_whole(commit.trial->outcome);
    const bool has_no_weights = has_left_none && (folders_ ? !commit.replayed : !resume_);
    for (const trial::TrialNumber number : state.left_behind()) {
      if (number != trial.number || !has_no_weights) drop(number);
    }
    for (const trial::TrialNumber number : state.left_final_front()) {
      if (rivals_) break;
      remove({number, true});
      if (std::ranges::any_of(state.full_trainings(number), trial::is_refit,
                              [](const auto& training) -> const trial::Trial& { return training->trial; }))
        remove({number, true, trial::kRefit});
    }
  }
  if (!trial.may_be_continued()) release_parent(trial);
  if (commit.trial->position + 1 == replayed_) end_replay();
}

void WeightsRemoval::released(const trial::Trial& trial) {
  release_parent(trial);
  if (folders_) release(trial.number);
}

void WeightsRemoval::release_parent(const trial::Trial& trial) {
  if (trial.inherits()) release(trial.inherits()->from);
}

void WeightsRemoval::release(trial::TrialNumber number) {
  const auto heirs = heirs_.find(number);
  if (--heirs->second > 0) return;
  heirs_.erase(heirs);
  if (dropped_.erase(number) > 0) remove({number});
}

void WeightsRemoval::drop(trial::TrialNumber number) {
  if (heirs_.contains(number)) {
    dropped_.insert(number);
  } else {
    remove({number});
  }
}

void WeightsRemoval::end_replay() {
  replaying_ = false;
  if (unwanted_.empty()) return;
  if (folders_) return remove_trial_folders(files_, std::exchange(unwanted_, {}));
  files_.storage.post([paths = files_.paths, names = std::exchange(unwanted_, {})] {
    store::remove_unwanted_weights(paths, names);
  });
}

void WeightsRemoval::remove(trial::TrialName name) {
  if (replaying_) {
    unwanted_.insert(name);
  } else if (folders_) {
    remove_trial_folders(files_, {name});
  } else {
    files_.storage.post([paths = files_.paths, name] { store::remove_weights(paths, name); });
  }
}

}  // namespace skyline::engine
