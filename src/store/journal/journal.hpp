#pragma once

#include "skyline/space/search_space.hpp"
#include "skyline/trial/metric.hpp"
#include "skyline/trial/trial.hpp"

#include "store/publish/retry_policy.hpp"
#include "store/run_folder/run_folder.hpp"
#include "trial/commit_log.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace skyline::store {

/// Checksums of files by name.
using Checksums = std::map<std::string, std::string>;

/// The first line of a journal, which describes the run by named facts. A later feature adds a fact here. Its
/// default is the value that runs without the fact have.
struct JournalHeader {
  std::string skyline_version;
  std::string config_hash;  // SHA-256 of the resolved configuration's canonical text
  std::uint64_t seed = 0;
  std::vector<trial::Metric> metrics;  // metrics of Measurements::values
  std::string device = {};    // kind of device of its trials: cpu, gpu; empty if none, or not recorded
  bool deterministic = true;  // whether equal trials have equal results, so that equal runs do
  bool pruning = false;       // whether trials may be pruned; lines have values after declared steps
  // The rules by which conditions of the space are read: the old ones, if this is missing.
  space::ConditionRules conditions = space::ConditionRules::kBinary;
  // Files of the user's programs: those of the first trials, or, from read_journal(), of the last ones. Empty
  // if there are none, or not recorded; an empty checksum: the file was no longer there.
  Checksums programs = {};
  // Whether the journal is of version 8, which has only names of metrics; `metrics` is guessed from them.
  bool has_names_only = false;
  bool operator==(const JournalHeader&) const = default;
};

/// Returns whether a journal records the metrics that are measured, as far as it describes them.
bool same_metrics(const JournalHeader& recorded, const std::vector<trial::Metric>& measured);
/// Returns a metric as JSON, as in a header.
std::string to_text(const trial::Metric& metric);

/// A rank without which a run continues. Its line in the journal is for readers and not part of the run's
/// result: it has no position, and the canonical journal leaves it out.
struct RankLoss {
  int rank = 0;
  std::string host;
  std::string cause;
  std::vector<trial::TrialName> trials;  // trials that it had and that others train now
};

/// A try of a trial that failed and did not count, because another one followed. The trial's line names it in
/// `where`, for readers.
struct FailedTry {
  int rank = 0;        // rank of member 0
  std::string host;    // host of this rank
  std::string reason;  // one line of text
};

struct JournalContents {
  JournalHeader header;
  trial::CommitLog entries;
  std::vector<double> started_s;  // start of each trial, by position, which tells equal runs apart
  bool torn_tail = false;         // an incomplete last line was found, which is not in `entries`
  std::uint64_t valid_bytes = 0;  // length of the valid part
};

/// Reads and checks a journal (jsonl, one committed trial per line, each with a checksum of the rest of the
/// line). Architectures are rebuilt from the genotypes and compared with the recorded arch ids. A torn last
/// line is dropped and reported; any other damage is refused.
/// @throws UserError "<path>: line 17: checksum does not match (...)"
JournalContents read_journal(const std::filesystem::path& path, const space::SearchSpace& space);

/// Reads and checks only the first line. @throws UserError like read_journal
JournalHeader read_journal_header(const std::filesystem::path& path);

/// Counts the trials in a journal that may be written meanwhile: its complete lines without the header and
/// lines about lost ranks and changed programs. Nothing is checked. @throws UserError if it cannot be read
std::size_t count_trials(const std::filesystem::path& path);

/// Publishes the valid part of a journal as a new file of the same name. Then everything that was read is
/// durable, a torn tail is removed, and an earlier job that comes back cannot reach the journal through its
/// open file. The holder of the claim calls it before it uses the contents. @throws UserError
void republish_journal(const std::filesystem::path& path, const JournalContents& contents);

/// A journal as text, whose lines were checked.
struct JournalText {
  std::string canonical;      // without times, host, rank and checksums: equal, byte for byte, for equal runs
  bool deterministic = true;  // see JournalHeader
  std::vector<double> started_s;  // see JournalContents
  bool torn_tail = false;         // see JournalContents
  std::uint64_t valid_bytes = 0;  // length of the part of the file that was read
};
/// Checks the checksums and positions of a journal; needs no space. @throws UserError as read_journal
JournalText check_journal(const std::filesystem::path& path);
inline std::string canonical_journal(const std::filesystem::path& path) {
  return check_journal(path).canonical;
}

/// Publishes a new journal with its first lines; fails if it exists. @throws UserError
void publish_journal(const std::filesystem::path& path, const JournalHeader& header,
                     const std::vector<trial::CommittedTrial>& first, const space::SearchSpace& space);

/// The only writer of a journal. Only the storage thread uses it.
class JournalWriter {
 public:
  /// Creates a journal, in place of one without trials: there is one at any moment, because a folder without
  /// a journal could not be resumed. @throws UserError if there is one with trials
  static std::unique_ptr<JournalWriter> create(const std::filesystem::path& path,
                                               const JournalHeader& header);
  /// Continues at the end of a republished journal. @throws UserError
  static std::unique_ptr<JournalWriter> resume(const std::filesystem::path& path,
                                               const JournalContents& contents);
  virtual ~JournalWriter() = default;
  /// Writes the lines and makes them durable with one fsync. @throws UserError with file and reason (disk
  /// full, another job has taken the run over)
  virtual void append(std::span<const trial::SharedTrial> committed, const space::SearchSpace& space) = 0;
  virtual void append(const RankLoss& loss) = 0;
  /// Notes a failed try for the line of the trial, which is to be appended.
  virtual void note(trial::TrialName trial, const FailedTry& failed) = 0;
  /// Says that other programs train from now on. The canonical journal has this line, too.
  virtual void append_change(const Checksums& programs) = 0;
};

/// Publishes checkpoints/results.<rank>.jsonl: results of this rank that wait for their commit, as lines of
/// the journal, ascending. @throws UserError
void write_waiting_results(const RunPaths& paths, int rank, const JournalHeader& header,
                           const trial::ResultsByName& results, const space::SearchSpace& space,
                           Effort effort = Effort::kOnce);

/// Reads the results of all ranks' files except those of the `committed` trials. A file of another run or
/// version, or a damaged line, is skipped with a warning that names it. @throws UserError if the folder
/// cannot be read
trial::ResultsByName read_waiting_results(const RunPaths& paths, const JournalHeader& header,
                                          const space::SearchSpace& space, const trial::CommitLog& committed);

/// Returns whether there are waiting results, usable or not. @throws UserError
bool has_waiting_results(const RunPaths& paths);

/// Removes all ranks' files except that of rank `kept`. @throws UserError
void remove_waiting_results(const RunPaths& paths, std::optional<int> kept = {});

}  // namespace skyline::store
