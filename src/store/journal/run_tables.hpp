#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"

#include "store/journal/learning_curves.hpp"
#include "trial/commit_log.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
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

}  // namespace skyline::store
