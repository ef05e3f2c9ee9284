#pragma once

#include "skyline/search/searcher.hpp"

#include "app/config/run_config.hpp"
#include "app/tuner/tuner_lines.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skyline::app {

/// The search of a configuration for a program that trains by itself: it proposes what `skyline search` would
/// after the same results. Not thread-safe.
class Sampler {
 public:
  /// @throws UserError if the search continues trials, has no candidate, or has a program that chooses
  explicit Sampler(const RunConfig& config);
  /// Returns the first line, which says what is searched.
  std::string first_line() const;
  /// Takes a line of the other program. Returns the answer to a question, which takes as long as the search
  /// thinks; nullopt for a result.
  /// @throws UserError with the mistake alone
  std::optional<std::string> answer_to(std::string_view line);

 private:
  std::string answer(std::size_t count);
  void note(ToldResult told);
  void add_told(const space::Genotype& genotype, trial::Outcome outcome);
  const trial::Trial& add(trial::Proposal proposal);

  const RunConfig& config_;
  std::unique_ptr<search::Searcher> searcher_;
  std::vector<trial::Trial> trials_;  // indexed by number
  std::vector<bool> has_result_;      // indexed by number
};

}  // namespace skyline::app
