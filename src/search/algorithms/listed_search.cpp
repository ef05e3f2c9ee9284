#include "search/algorithms/listed_search.hpp"

#include "skyline/core/error.hpp"

#include "core/config/option_list.hpp"
#include "search/algorithms/algorithms.hpp"
#include "search/algorithms/proposal_list.hpp"

#include <memory>
#include <span>
#include <utility>

namespace skyline::search {
namespace {

constexpr const char* kListed = "listed";
constexpr const char* kListedMeaning =
    "Listed architectures; all of them are trained in full, not the front alone.";

const OptionTable<ListedOptions>& listed_table() {
  const auto genotype = list_of(integer<std::uint32_t>(at_least(0)), "a list of numbers");
  static const OptionTable<ListedOptions> table{
      {"genotypes", &ListedOptions::genotypes, list_of(genotype, "a list of genotypes"),
       "Of each trial, the place of each parameter's value among its values, from 0.", KeyRule::kRequired},
      {"seeds", &ListedOptions::seeds, integer<std::size_t>(at_least(1).at_most(ListedOptions::kMostSeeds)),
       "Trials of each, one after the other, which differ in the seed of their training."},
      {"from", &ListedOptions::from, text("a run folder"),
       "The run that they are of, whose results count as those of the search (`skyline train`).",
       KeyRule::kMayChange},
      {"numbers", &ListedOptions::numbers, list_of(integer<std::uint64_t>(at_least(0)), "a list of numbers"),
       "Their numbers in that run.", KeyRule::kMayChange}};
  return table;
}

std::vector<trial::Proposal> listed_proposals(const ListedOptions& options, const SearchProblem& problem) {
  const std::vector<space::Parameter>& parameters = problem.space.parameters();
  std::vector<trial::Proposal> proposals;
  for (const std::vector<std::uint32_t>& choices : options.genotypes) {
    bool known = choices.size() == parameters.size();
    for (std::size_t p = 0; known && p < choices.size(); ++p)
      known = choices[p] < parameters[p].values.size();
    if (!known) throw UserError("search.genotypes: a genotype that the space does not have");
    const space::Architecture built = problem.space.build({choices});
    trial::Proposal proposal{.architecture = std::make_shared<const space::Architecture>(built.unbuilt()),
                             .origin = trial::Origin::kEnumerated,
                             .parents = {},
                             .budget = problem.budget,
                             .start = {}};
    for (; proposal.repeat < options.seeds; ++proposal.repeat) proposals.push_back(proposal);
  }
  return proposals;
}

class ListedSearch final : public ProposalList {
 public:
  ListedSearch(const ListedOptions& options, const SearchProblem& problem)
      : ProposalList(listed_proposals(options, problem), "listed trial"), counter_(problem.counter) {}

  Answer ask(std::size_t room) override {
    Answer answer = ProposalList::ask(room);
    for (trial::Proposal& proposal : answer.proposals) {
      if (counter_ == nullptr) break;
      space::Architecture counted = *proposal.architecture;
      counted.counted = counter_->count(std::span(&proposal.architecture, 1)).front();
      proposal.architecture = std::make_shared<const space::Architecture>(std::move(counted));
    }
    return answer;
  }

 private:
  std::shared_ptr<CostCounter> counter_;
};

}  // namespace

ConfigNode ListedOptions::to_section() const {
  return listed_table().tagged("algorithm", kListed, kListedMeaning).to_config(*this);
}

Algorithm listed_search() {
  Algorithm algorithm = make_algorithm<ListedSearch>(kListed, kListedMeaning, listed_table());
  algorithm.trains_all = true;
  algorithm.source_run = [](const ConfigNode& section) {
    const ConfigNode* from = section.find("from");
    return from == nullptr ? std::string() : from->as_text();
  };
  return algorithm;
}

}  // namespace skyline::search
