#include "engine/slots/journal_sink.hpp"

#include "engine/loop/trial_maker.hpp"
#include "engine/work/run_files.hpp"
#include "store/journal/asked_trials.hpp"

#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace skyline::engine {
namespace {

/// Returns the programs of this job that are others than those of the journal.
store::Checksums changed_programs(const store::Checksums& recorded, const store::Checksums& now) {
  store::Checksums changed = now;
  std::erase_if(changed, [&](const auto& file) {
    const auto earlier = recorded.find(file.first);
    return earlier != recorded.end() && earlier->second == file.second;
  });
  return changed;
}

}  // namespace

struct JournalSink::State {
  const space::SearchSpace& space;
  std::shared_ptr<ResultKeeper> results;
  std::unique_ptr<store::JournalWriter> writer;  // used by the storage thread only
  std::mutex mutex;
  std::vector<run::SharedTrial> waiting;  // not empty while a job that takes them is queued
  std::vector<run::SharedTrial> batch;    // trials that are being written; used by the storage thread only

  State(const space::SearchSpace& the_space, std::shared_ptr<ResultKeeper> the_results)
      : space(the_space), results(std::move(the_results)) {}
  void write_waiting() {
    batch.clear();
    {
      const std::lock_guard lock(mutex);
      batch.swap(waiting);
    }
    std::vector<trial::TrialName> names;
    for (const run::SharedTrial& committed : batch) names.push_back(committed->trial.name());
    writer->append(batch, space);
    results->journalled(names);
  }
};

JournalSink::JournalSink(const RunFiles& files, const space::SearchSpace& space,
                         const store::JournalContents* replayed, std::shared_ptr<ResultKeeper> results)
    : state_(std::make_shared<State>(space, std::move(results))), storage_(files.storage) {
  storage_.submit([state = state_, &files, replayed] {
    state->writer = replayed != nullptr ? store::JournalWriter::resume(files.paths.journal(), *replayed)
                                        : store::JournalWriter::create(files.paths.journal(), files.header);
    if (replayed == nullptr) return;
    const auto changed = changed_programs(replayed->header.programs, files.header.programs);
    if (!changed.empty()) state->writer->append_change(changed);
  });
  storage_.drain();
}

void JournalSink::committed(const run::Commit& commit, const run::RunState& /*state*/) {
  if (commit.replayed) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->waiting.push_back(commit.trial);
    if (state_->waiting.size() > 1) return;
  }
  storage_.post([state = state_] { state->write_waiting(); });
}

/// The rank that trained the trial keeps its result too, but may write it later.
void JournalSink::waits(const trial::CommittedTrial& result) {
  state_->results->add(result);
  state_->results->hurry();
}

void JournalSink::lost(const store::RankLoss& loss) {
  storage_.post([state = state_, loss] { state->writer->append(loss); });
}

void JournalSink::failed(trial::TrialName trial, const store::FailedTry& failed) {
  storage_.post([state = state_, trial, failed] { state->writer->note(trial, failed); });
}

struct AskedTrialsWriter::State {
  const store::RunPaths paths;
  const store::JournalHeader header;
  const space::SearchSpace& space;
  RareWarning warning;  // used by the storage thread only
  std::mutex mutex;     // guards the members below
  std::map<trial::TrialNumber, trial::Trial> in_flight;
  bool is_queued = false;

  void write() {
    std::vector<trial::Trial> asked;
    {
      const std::lock_guard lock(mutex);
      is_queued = false;
      for (const auto& [number, trial] : in_flight) asked.push_back(trial);
    }
    try {
      store::write_asked_trials(paths, header, asked, space);
    } catch (const std::exception& error) {
      warning.warn(std::string(error.what()) + "; a resume chooses the trials in flight again");
    }
  }
};

AskedTrialsWriter::AskedTrialsWriter(const RunFiles& files, const space::SearchSpace& space,
                                     std::size_t replayed)
    : state_(new State{files.paths, files.header, space, {}, {}, {}, false}),
      storage_(files.storage),
      replayed_(replayed) {}

void AskedTrialsWriter::asked(const trial::Trial& trial) {
  if (trial.is_final() || trial.number < replayed_) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->in_flight.emplace(trial.number, without_network(trial));
    if (std::exchange(state_->is_queued, true)) return;
  }
  storage_.post([state = state_] { state->write(); });
}

void AskedTrialsWriter::committed(const run::Commit& commit, const run::RunState& /*state*/) {
  const std::lock_guard lock(state_->mutex);
  if (!commit.trial->trial.is_final()) state_->in_flight.erase(commit.trial->trial.number);
}

void AskedTrialsWriter::remove_file() {
  call_storage<bool>(storage_, [state = state_] {
    try {
      store::remove_asked_trials(state->paths);
    } catch (const std::exception& error) {  // the next job knows that these trials are committed
      log::warning(error.what());
    }
    return true;
  });
}

}  // namespace skyline::engine
