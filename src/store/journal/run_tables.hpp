#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"
#include "skyline/trial/metric.hpp"
#include "skyline/trial/trial.hpp"

#include "store/journal/learning_curves.hpp"
#include "store/run_folder/run_folder.hpp"
#include "trial/commit_log.hpp"
#include "trial/trial_fields.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace skyline::store {

/// The time of a slot in a job, in seconds of wall clock. The parts add up to the time of the job.
struct SlotAccount {
  std::uint32_t job = 1;  // number in the run, from 1
  int rank = 0;
  int slot = 0;
  std::string host = {};
  // Model of the host's processors, and version, commit, libraries and compiler of the program. Earlier
  // versions have recorded neither.
  std::string processor = {};
  std::string program = {};
  std::size_t trials = 0;
  double setup_s = 0;
  double train_s = 0;
  double validate_s = 0;
  double latency_s = 0;
  double wait_work_s = 0;    // waiting for a trial
  double wait_device_s = 0;  // waiting for its turn on the device, or for memory
  double wait_files_s = 0;   // waiting for files to be read or taken over
  double wait_ranks_s = 0;   // waiting for other ranks, over MPI
  double busy_s() const { return train_s + validate_s + latency_s; }
  double waited_s() const { return wait_work_s + wait_device_s + wait_files_s + wait_ranks_s; }
  double wall_s() const { return setup_s + busy_s() + waited_s(); }
  bool operator==(const SlotAccount&) const = default;
};

/// Calls visit(name, member) for each member of an account, as files and pages name it.
template <typename Slot, typename Visitor>
void for_each_cell(Slot& slot, Visitor&& visit) {
  visit("job", slot.job);
  visit("rank", slot.rank);
  visit("slot", slot.slot);
  visit("host", slot.host);
  visit("processor", slot.processor);
  visit("program", slot.program);
  visit("trials", slot.trials);
  visit("setup_s", slot.setup_s);
  visit("train_s", slot.train_s);
  visit("validate_s", slot.validate_s);
  visit("latency_s", slot.latency_s);
  visit("wait_work_s", slot.wait_work_s);
  visit("wait_device_s", slot.wait_device_s);
  visit("wait_files_s", slot.wait_files_s);
  visit("wait_ranks_s", slot.wait_ranks_s);
}

/// Returns the name of each parameter's column: the parameter's name, with `parameter_` in front as often as
/// it takes to differ from the other columns and from other parameters.
std::vector<std::string> parameter_columns(const space::SearchSpace& space,
                                           const std::vector<std::string>& others);

/// Writes run.h5, the journal as a table; the file is published whole. Data set "trials" is a compound with
/// one row per trial, which pandas reads as `pandas.DataFrame(h5py.File("run.h5")["trials"][:])`, and the
/// columns of TrialTable (inherited_from is -1 if there is none). Data set "slots" is the account of all
/// jobs: one row per slot of each job, one column per member of SlotAccount. Data set "course" has the points
/// of committed trials: number, position, phase, step, and one column per name of a value. Root attributes:
/// format, version, skyline_version, config (YAML text). @throws Problem
/// @param on_front  [committed.size()]
void write_run_tables(const std::filesystem::path& path, const trial::CommitLog& committed,
                      const std::vector<bool>& on_front, const std::vector<trial::Metric>& metrics,
                      const space::SearchSpace& space, const std::string& config_text,
                      const std::vector<SlotAccount>& slots, const LearningCurves& courses = {});

/// What run.h5 knows that no other file does, and what ties it to a journal.
struct StoredTables {
  std::vector<SlotAccount> slots;
  std::vector<double> started_s = {};  // start of each trial, by position, as in the journal
};

/// Reads run.h5. @throws UserError if the file is damaged or of another version
StoredTables read_run_tables(const std::filesystem::path& path);

/// The only list of what results say of each trial. run.h5 has all its columns in this order;
/// search_state.csv, models.json, pareto.json and the page of reports take theirs from here. A parameter or a
/// metric may have the name of another column.
class TrialTable {
 public:
  /// @param space    must outlive the table
  /// @param metrics  metrics of Measurements::values; must outlive the table
  TrialTable(const space::SearchSpace& space, const std::vector<trial::Metric>& metrics);

  /// Returns one cell for each column. A parameter that the network does not use has a value, too.
  /// @param on_front  whether the trial is on the front of its phase
  std::vector<trial::Cell> row(const trial::CommittedTrial& committed, bool on_front = false) const;
  /// Returns the columns, as a row whose values mean nothing.
  std::vector<trial::Cell> columns() const;

 private:
  const space::SearchSpace& space_;
  const std::vector<trial::Metric>& metrics_;
  std::vector<trial::CellValue> empty_;  // empty cell for each parameter, in the common type of its values
};

/// Returns "ok", "pruned", or the kind of the failure.
std::string status_of(const trial::CommittedTrial& committed);

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
