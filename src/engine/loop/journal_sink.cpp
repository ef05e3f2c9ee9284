#include "engine/loop/journal_sink.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace skyline::engine {

struct JournalSink::State {
  const space::SearchSpace& space;
  std::shared_ptr<ResultKeeper> results;
  std::unique_ptr<store::JournalWriter> writer;  // storage thread alone
  std::mutex mutex;
  std::vector<trial::CommittedTrial> waiting;  // not empty: a job that will take them is queued

  State(const space::SearchSpace& the_space, std::shared_ptr<ResultKeeper> the_results)
      : space(the_space), results(std::move(the_results)) {}
  void write_waiting() {
    std::vector<trial::CommittedTrial> batch;
    {
      const std::lock_guard lock(mutex);
      batch.swap(waiting);
    }
    writer->append(batch, space);
    std::vector<trial::TrialName> names;
    for (const trial::CommittedTrial& committed : batch) names.push_back(committed.trial.name());
    results->journalled(names);
  }
};

JournalSink::JournalSink(const RunInputs& inputs, std::shared_ptr<ResultKeeper> results)
    : state_(std::make_shared<State>(inputs.space, std::move(results))), storage_(inputs.storage) {
  storage_.submit([state = state_, &inputs] {
    state->writer = inputs.replay ? store::JournalWriter::resume(inputs.paths.journal(), *inputs.replay)
                                  : store::JournalWriter::create(inputs.paths.journal(), inputs.header);
  });
  storage_.drain();
}

void JournalSink::append(trial::CommittedTrial committed) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->waiting.push_back(std::move(committed));
    if (state_->waiting.size() > 1) return;
  }
  storage_.submit([state = state_] { state->write_waiting(); });
}

}  // namespace skyline::engine
