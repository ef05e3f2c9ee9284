#pragma once

#include "skyline/trial/metric.hpp"
#include "skyline/trial/trial.hpp"

#include "store/journal/journal.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace skyline::store {

/// A line of a journal is a JSON object whose last member, "sum", is the checksum of the line's text before
/// it. The functions here handle a line; the caller adds its number and file to errors.
std::string seal_line(const nlohmann::ordered_json& line);
/// Returns a line of the journal, with the position of the trial's commit.
std::string entry_line(const trial::CommittedTrial& committed, const std::vector<trial::Metric>& metrics,
                       const space::SearchSpace& space, const std::vector<FailedTry>& failed_tries = {});
/// The member of a line that says what the searcher expected of the trial, for readers: [low, value, high].
/// Like `where`, it is no part of the canonical journal.
inline constexpr const char* kExpected = "expected";
/// The first bytes of a line with a trial.
inline constexpr std::string_view kEntryStart = R"({"position":)";
/// Returns the line of a trial that is not committed yet.
std::string result_line(const trial::CommittedTrial& committed, const std::vector<trial::Metric>& metrics,
                        const space::SearchSpace& space);

/// Returns the line of a trial that has no result yet.
std::string asked_line(const trial::Trial& trial, const space::SearchSpace& space);

/// Return a line about a lost rank, and whether a line is one.
std::string loss_line(const RankLoss& loss);
bool is_loss(const nlohmann::ordered_json& line);

/// Returns the line of a journal that says with which files of the user's programs the run goes on.
std::string change_line(const Checksums& programs);
/// Returns whether a line of a journal is such a line.
bool is_change(const nlohmann::ordered_json& line);
/// The member of a line about changed programs that has their checksums.
inline constexpr const char* kChanged = "changed";
/// Adds the checksums of a member, or puts them in place of earlier ones. @throws UserError
void read_checksums(const nlohmann::ordered_json& line, const char* name, Checksums& checksums);

/// Checks the sum of a line (without its newline) and reads it. Returns nullopt if the sum does not match.
/// @throws UserError if the sum matches but the text is not a JSON object
std::optional<nlohmann::ordered_json> parse_line(std::string_view line);
/// Reads the member `arch` of a line. @throws UserError
space::ArchId decode_arch_id(const nlohmann::ordered_json& line);

/// Turns lines back into trials.
class EntryDecoder {
 public:
  /// The referenced objects must outlive the decoder.
  /// @param earlier  trials from which others may inherit, which they may continue or train in full
  EntryDecoder(const space::SearchSpace& space, const std::vector<trial::Metric>& metrics,
               const trial::CommitLog& earlier)
      : space_(space), metrics_(metrics), earlier_(earlier), conditional_(space.conditional()) {}
  /// Reads the architecture of a trial. Its network is built and compared, but not kept. Any thread may call
  /// it.
  /// @throws UserError for a member that is missing, wrong, or not of this space
  std::shared_ptr<const space::Architecture> architecture(const nlohmann::ordered_json& line) const;
  /// Reads a trial whose architecture has been read. @throws UserError as architecture
  trial::CommittedTrial decode(const nlohmann::ordered_json& line,
                               std::shared_ptr<const space::Architecture> architecture) const;
  /// Reads a trial without a result. @throws UserError as architecture
  trial::Trial decode_asked(const nlohmann::ordered_json& line,
                            std::shared_ptr<const space::Architecture> architecture) const;
  /// Makes a trial known that is not committed yet, since it may be an earlier one for other lines.
  void know(const trial::Trial& trial) { known_[trial.number] = trial.proposal.architecture; }

 private:
  space::Genotype genotype(const nlohmann::ordered_json& values) const;
  std::shared_ptr<const space::Architecture> recorded(const nlohmann::ordered_json& line) const;
  std::shared_ptr<const space::Architecture> earlier(trial::TrialNumber number) const;
  bool is_known(trial::TrialNumber number, space::ArchId id) const;
  trial::Outcome outcome(const nlohmann::ordered_json& line) const;

  const space::SearchSpace& space_;
  const std::vector<trial::Metric>& metrics_;
  const trial::CommitLog& earlier_;
  const std::vector<std::string> conditional_;  // parameters that may have no value
  std::map<trial::TrialNumber, std::shared_ptr<const space::Architecture>> known_;
};

}  // namespace skyline::store
