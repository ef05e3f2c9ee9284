#pragma once

#include "store/journal/run_tables.hpp"
#include "store/run_folder/run_folder.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace skyline::store {

/// What status.json and run.h5 say about the journal beside them. Make it before you read the journal,
/// because a job may be writing all three.
class JournalEnd {
 public:
  /// A missing or damaged file says nothing; if it costs the account of time, the log says so.
  /// @throws FaultError if the file server is away
  explicit JournalEnd(const RunPaths& paths);
  /// Says which end of the journal is lost, if the other files have more of its trials; else returns an empty
  /// text.
  /// @param started_s  of the trials that were read
  std::string loss(std::span<const double> started_s, bool torn_tail) const;
  /// Warns of lines that are missing, and of a torn last line that was left out, unless a job is writing the
  /// journal; and of a run.h5 of another run.
  /// @throws UserError if the last job ended with more trials
  void check(std::span<const double> started_s, bool torn_tail) const;
  /// Returns whether run.h5 is of another run: it has trials, as the journal has, and none of them is there.
  bool has_foreign_tables(std::span<const double> started_s) const;
  /// Returns the account of the run's jobs so far, as results were last written; empty if it is lost.
  /// @param started_s  of the trials that were read
  std::vector<SlotAccount> account(std::span<const double> started_s) const;

 private:
  RunPaths paths_;
  std::size_t committed_ = 0;  // trials that the journal must have
  StoredTables tables_;
};

}  // namespace skyline::store
