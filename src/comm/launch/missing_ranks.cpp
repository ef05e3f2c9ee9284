#include "comm/launch/missing_ranks.hpp"

#include "machine/node_report.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>

namespace skyline::comm {
namespace {

constexpr auto kAdvice =
    "a process hangs, or MPI's connections between hosts are blocked or take a wrong network "
    "(OMPI_MCA_btl_tcp_if_include=eth0 names the right one)";

/// Writes ranks as ranges: "8-15, 20".
std::string ranges_text(const std::vector<std::size_t>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(ranks[i]);
    if (last > i) text += "-" + std::to_string(ranks[last]);
    i = last + 1;
  }
  return text;
}

/// The name without its domain: sources differ in whether they give it.
std::string short_name(const std::string& host) {
  return host.substr(0, host.find('.'));
}

}  // namespace

std::string describe_missing(const std::vector<std::string>& hosts,
                             const std::vector<std::string>& job_hosts) {
  std::vector<std::size_t> missing;
  std::vector<std::string> heard;
  std::set<std::string> known;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank].empty()) {
      missing.push_back(rank);
    } else {
      heard.push_back(hosts[rank]);
      known.insert(short_name(hosts[rank]));
    }
  }
  std::vector<std::string> silent;
  std::ranges::copy_if(job_hosts, std::back_inserter(silent),
                       [&](const std::string& host) { return !known.contains(short_name(host)); });
  std::string about_silent;
  if (!silent.empty() && silent.size() <= missing.size()) {
    about_silent = " (none at all from " + machine::host_list(silent) + ")";
  } else if (!silent.empty()) {
    about_silent = " (no rank heard on " + machine::host_list(silent) + ", if any were started there)";
  }
  return "no word over MPI from rank" + std::string(missing.size() == 1 ? " " : "s ") + ranges_text(missing) +
         about_silent + "; heard from " + machine::host_list(heard) + ": " + kAdvice;
}

}  // namespace skyline::comm
