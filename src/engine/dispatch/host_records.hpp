#pragma once

#include "skyline/trial/trial.hpp"

#include "store/journal/journal.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>

namespace skyline::engine {

/// Judges the hosts of a job by how trials end there, since a host on which programs cannot work fails each
/// trial at once, and so takes most of them. It is told the end of each try in the order of arrival. A trial
/// whose program fails on two hosts fails by itself, and says nothing of either. Pure.
class HostRecords {
 public:
  static constexpr std::size_t kDoubtful = 3;  // number of failures in a row that make a host doubtful
  static constexpr std::size_t kBad = 5;       // number that makes it bad

  /// Notes a try that had a result.
  /// @param earlier  the trial's earlier tries, which failed
  void succeeded(trial::TrialName trial, const std::string& host, std::span<const store::FailedTry> earlier);
  /// Notes a try that failed, and not by divergence.
  /// @param earlier  hosts on which the trial's program has failed before
  void failed(trial::TrialName trial, const std::string& host, const std::set<std::string>& earlier);

  /// Returns whether a failure there may be the host's: trials have failed there, and it has had no good
  /// result in this job, or none in its last kDoubtful trials.
  bool in_doubt(const std::string& host) const;
  /// Returns the number of trials that have failed there since its last good result, if it should get no
  /// more: at least kBad, one of which had a good result on another host. Otherwise 0.
  std::size_t failures_of_bad(const std::string& host) const;

 private:
  struct Record {
    bool was_good = false;
    std::map<trial::TrialName, bool> failures;  // since the last good result; true if good on another host
  };

  std::map<std::string, Record> records_;
};

}  // namespace skyline::engine
