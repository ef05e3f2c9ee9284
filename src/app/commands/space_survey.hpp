#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"

#include "report/text/progress.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace skyline::app {

/// Shows the progress of a count that takes longer than 2 s. On a terminal it is one line, which is rewritten
/// and removed at the end; otherwise a line in the log every 10 s.
class CountProgress {
 public:
  explicit CountProgress(report::ProgressConsole console);
  ~CountProgress();
  CountProgress(const CountProgress&) = delete;
  CountProgress& operator=(const CountProgress&) = delete;

  /// Returns whether it is time for show().
  bool is_due() const { return console_.now_s() >= next_s_; }
  /// @param share  share that has been counted, above 0 and at most 1
  void show(double share);

 private:
  const report::ProgressConsole console_;
  const double start_s_;
  double next_s_;
  bool drawn_ = false;
};

/// Counts of genotypes by their result.
struct GenotypeTally {
  struct Unbuildable {
    std::int64_t count = 0;
    std::string example;
  };
  std::int64_t seen = 0;
  std::int64_t valid = 0;
  /// Sums over all of them, and over the valid ones, of 1 / the number of genotypes that agree in all
  /// parameters which the network used.
  long double networks = 0;
  long double valid_networks = 0;
  std::map<std::string, std::int64_t> broken;      // constraints, by the number of networks that break them
  std::map<std::string, Unbuildable> unbuildable;  // indexed by the place that the error names

  /// Adds another tally.
  /// @param times  number of genotypes that each of its genotypes represents
  void add(const GenotypeTally& other, std::int64_t times);
};

/// Facts about a space: from all genotypes if they were counted, otherwise from random ones.
struct SpaceSurvey {
  struct CostRange {
    double least = 0;
    double most = 0;
  };
  std::int64_t genotypes = 0;  // below 2^63
  double log10_genotypes = 0;
  std::optional<long double> kept = {};  // genotypes that keep `where`; nullopt if they cannot be counted
  bool all = false;                      // true if every genotype was counted
  GenotypeTally tally;
  std::set<space::ArchId> architectures;   // ids of the valid ones
  std::map<std::string, CostRange> costs;  // ranges of the valid ones, by computed metric
};

/// Examines a space. Random genotypes are drawn uniformly, without the weights of the space, among those that
/// keep its `where` if these can be counted.
/// @param count  count everything, however long it takes, with progress on standard error; otherwise a count
///               of more than about a second is replaced by an estimate
SpaceSurvey survey(const space::SearchSpace& space, const objective::ObjectiveSet& objectives, bool count);
/// Returns a few lines for people, each beginning with "# space: ".
std::string to_text(const SpaceSurvey& survey);

}  // namespace skyline::app
