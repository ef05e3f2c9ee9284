#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::app {

inline constexpr double kMegabyte = 1e6;
inline constexpr double kGigabyte = 1e9;

enum class Verdict { kGood, kNote, kWarning, kProblem };  // to_text has a word for each
std::string_view to_text(Verdict verdict);

/// A statement of one rank about one subject.
struct Finding {
  Verdict verdict = Verdict::kGood;
  std::string subject;  // e.g. "run folder"
  std::string text;     // e.g. "/scratch/runs: nfs4, 1.2 TB free"
  std::string advice;   // change that helps; may be empty
};

template <typename Visitor>
void for_each_field(Finding& finding, Visitor& visit) {
  visit(finding.verdict, finding.subject, finding.text, finding.advice);
}

/// Returns e.g. "0.25 s", "240 GB".
std::string with_unit(double value, const char* unit);
/// Rounds the value down to 1, 2 or 5 times a power of ten, so that small differences between nodes give the
/// same text, and one line serves for all.
std::string with_coarse_unit(double value, const char* unit);

/// A finding with the hosts where it was made.
struct SharedFinding {
  Finding finding;
  std::vector<std::string> hosts;  // each host once, in the order of ranks
};

/// Merges the findings of all ranks: equal findings become one. They are ordered by their first rank.
/// @param by_rank  findings of each rank
/// @param hosts    host of each rank
std::vector<SharedFinding> merge_findings(std::span<const std::vector<Finding>> by_rank,
                                          std::span<const std::string> hosts);

/// Returns one line per finding, and another one for advice: "warning  cores: ... (h1, h2)". Hosts are named
/// unless all of them had the finding.
std::string findings_text(std::span<const SharedFinding> findings, std::size_t host_count);

}  // namespace skyline::app
