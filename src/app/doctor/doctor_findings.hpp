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
  std::string subject;  // "run folder"
  std::string text;     // "/scratch/runs: nfs4, 1.2 TB free"
  std::string advice;   // what to change; empty: nothing
};

template <typename Visitor>
void for_each_field(Finding& finding, Visitor& visit) {
  visit(finding.verdict, finding.subject, finding.text, finding.advice);
}

/// "0.25 s", "240 GB"
std::string with_unit(double value, const char* unit);
/// With the value rounded down to 1, 2 or 5 times a power of ten: what differs a little from node to node
/// reads the same, so that one line speaks for all.
std::string with_coarse_unit(double value, const char* unit);

/// A finding with the hosts where it was made.
struct SharedFinding {
  Finding finding;
  std::vector<std::string> hosts;  // each once, in the order of ranks
};

/// Findings of all ranks; what several ranks found is there once, in the order in which it was first found.
/// @param by_rank  findings of each rank @param hosts  of each rank
std::vector<SharedFinding> merge_findings(std::span<const std::vector<Finding>> by_rank,
                                          std::span<const std::string> hosts);

/// One line a finding, and another one for advice: "warning  cores: ... (h1, h2)". Hosts are named where not
/// all of them found it.
std::string findings_text(std::span<const SharedFinding> findings, std::size_t host_count);

}  // namespace skyline::app
