#include "engine/slots/journal_sink.hpp"

#include <mutex>
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

}  // namespace skyline::engine
