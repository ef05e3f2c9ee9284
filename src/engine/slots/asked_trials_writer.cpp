#include "engine/slots/asked_trials_writer.hpp"

#include "engine/loop/trial_maker.hpp"
#include "engine/work/storage_calls.hpp"
#include "store/journal/asked_trials.hpp"

#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace skyline::engine {

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
