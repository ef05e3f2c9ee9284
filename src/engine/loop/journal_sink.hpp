#pragma once

#include "engine/loop/run.hpp"
#include "engine/slots/result_keeper.hpp"
#include "store/publish/storage_thread.hpp"

#include <memory>

namespace skyline::engine {

/// Rank 0's way into the journal: appends on the storage thread, in order, with one fsync for all that has
/// come together meanwhile. A failure comes out of StorageThread::rethrow_failure.
class JournalSink {
 public:
  /// Creates the journal, or opens the one that is replayed. @throws UserError
  /// @param results  told of what has become durable
  JournalSink(const RunInputs& inputs, std::shared_ptr<ResultKeeper> results);
  void append(trial::CommittedTrial committed);

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with queued jobs
  store::StorageThread& storage_;
};

}  // namespace skyline::engine
