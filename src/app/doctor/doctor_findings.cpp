#include "app/doctor/doctor_findings.hpp"

#include "skyline/core/error.hpp"

#include "machine/node.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace skyline::app {
namespace {

bool is_same(const Finding& left, const Finding& right) {
  return left.verdict == right.verdict && left.subject == right.subject && left.text == right.text;
}

}  // namespace

std::string_view to_text(Verdict verdict) {
  constexpr std::array<std::string_view, 4> kWords{"ok", "note", "warning", "PROBLEM"};
  return kWords.at(static_cast<std::size_t>(verdict));
}

std::string with_unit(double value, const char* unit) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), value < 10 ? "%.2g %s" : "%.0f %s", value, unit);
  return text.data();
}

std::string with_coarse_unit(double value, const char* unit) {
  if (!(value > 0)) return with_unit(0, unit);
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {5, 2}) {
    if (value >= step * power) return with_unit(step * power, unit);
  }
  return with_unit(power, unit);
}

std::vector<SharedFinding> merge_findings(std::span<const std::vector<Finding>> by_rank,
                                          std::span<const std::string> hosts) {
  require(by_rank.size() == hosts.size(), "findings without a host");
  std::vector<SharedFinding> merged;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    for (const Finding& finding : by_rank[rank]) {
      auto known = std::ranges::find_if(
          merged, [&](const SharedFinding& shared) { return is_same(shared.finding, finding); });
      if (known == merged.end()) known = merged.insert(known, {finding, {}});
      if (std::ranges::find(known->hosts, hosts[rank]) == known->hosts.end()) {
        known->hosts.push_back(hosts[rank]);
      }
    }
  }
  return merged;
}

std::string findings_text(std::span<const SharedFinding> findings, std::size_t host_count) {
  std::string text;
  for (const SharedFinding& shared : findings) {
    const Finding& finding = shared.finding;
    std::string verdict(to_text(finding.verdict));
    verdict.resize(9, ' ');
    text += verdict + finding.subject + ": " + finding.text;
    if (shared.hosts.size() < host_count) text += " (" + machine::host_list(shared.hosts) + ")";
    text += '\n';
    if (!finding.advice.empty()) text += "         -> " + finding.advice + '\n';
  }
  return text;
}

}  // namespace skyline::app
