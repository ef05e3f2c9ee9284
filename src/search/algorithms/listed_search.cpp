#include "skyline/core/error.hpp"
#include "skyline/search/candidate_pool.hpp"

#include "core/config/option_list.hpp"
#include "core/text/wording.hpp"
#include "search/algorithms/algorithms.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

namespace skyline::search {
namespace {

constexpr std::size_t kMostSeeds = 1000;

struct ListedOptions {
  std::vector<std::vector<std::uint32_t>> genotypes;
  std::size_t seeds = 1;
  std::string from;
  std::vector<std::uint64_t> numbers;
};

/// The listed genotypes, in their order; needs no results.
class ListedSearch final : public Searcher {
 public:
  ListedSearch(const ListedOptions& options, const SearchProblem& problem) {
    const std::vector<space::Parameter>& parameters = problem.space.parameters();
    for (const std::vector<std::uint32_t>& choices : options.genotypes) {
      bool known = choices.size() == parameters.size();
      for (std::size_t p = 0; known && p < choices.size(); ++p)
        known = choices[p] < parameters[p].values.size();
      if (!known) throw UserError("search.genotypes: a genotype that the space does not have");
      const space::Architecture built = problem.space.build({choices});
      proposals_.insert(proposals_.end(), options.seeds,
                        {.architecture = std::make_shared<const space::Architecture>(built.unbuilt()),
                         .origin = trial::Origin::kEnumerated,
                         .parents = {},
                         .budget = problem.budget,
                         .start = {}});
    }
  }

  std::vector<trial::Proposal> ask(std::size_t room) override {
    const std::size_t count = std::min(room, proposals_.size() - asked_);
    const auto begin = std::make_move_iterator(proposals_.begin() + static_cast<std::ptrdiff_t>(asked_));
    asked_ += count;
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }
  void tell(const trial::CommittedTrial&) override {}
  bool needs_results() const override { return false; }
  bool finished() const override { return asked_ == proposals_.size(); }
  std::string finish_reason() const override { return counted(asked_, "listed trial") + " done"; }
  std::size_t expected_trials() const override { return proposals_.size(); }

 private:
  std::vector<trial::Proposal> proposals_;
  std::size_t asked_ = 0;
};

}  // namespace

Algorithm listed_search() {
  const auto genotype = list_of(whole<std::uint32_t>(at_least(0)), "a list of numbers");
  const OptionTable<ListedOptions> options{
      {"genotypes", &ListedOptions::genotypes, list_of(genotype, "a list of genotypes"),
       "Of each trial, the place of each parameter's value among its values, from 0.", KeyRule::kRequired},
      {"seeds", &ListedOptions::seeds, whole<std::size_t>(at_least(1).at_most(kMostSeeds)),
       "Trials of each, one after the other, which differ in the seed of their training."},
      {"from", &ListedOptions::from, text("a run folder"),
       "The run that they are of, whose results count as those of the search (`skyline train`).",
       KeyRule::kMayChange},
      {"numbers", &ListedOptions::numbers, list_of(whole<std::uint64_t>(at_least(0)), "a list of numbers"),
       "Their numbers in that run.", KeyRule::kMayChange}};
  return make_algorithm<ListedSearch>(
      "listed", "Listed architectures; all of them are trained in full, not the front alone.", options);
}

}  // namespace skyline::search
