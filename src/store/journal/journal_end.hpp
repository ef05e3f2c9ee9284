#pragma once

#include "store/run_folder/run_folder.hpp"

#include <cstddef>
#include <string>

namespace skyline::store {

/// What the last job of a run said about its journal when it ended, in status.json. Make it before you read
/// the journal, because a job may be writing both.
class JournalEnd {
 public:
  /// A missing or damaged status.json says nothing. @throws FaultError if the file server is away
  explicit JournalEnd(const RunPaths& paths);
  /// Says which end of the journal is lost, if the job that ended had committed more trials; else returns an
  /// empty text.
  /// @param trials  trials that were read
  std::string loss(std::size_t trials, bool torn_tail) const;
  /// Warns of a torn last line that was left out, unless a job is writing the journal.
  /// @throws UserError if an end is lost
  void check(std::size_t trials, bool torn_tail) const;

 private:
  RunPaths paths_;
  std::size_t committed_ = 0;  // trials that the journal must have
};

}  // namespace skyline::store
