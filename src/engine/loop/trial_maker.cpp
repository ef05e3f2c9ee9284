#include "engine/loop/trial_maker.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include "engine/weights/inheritance.hpp"

#include <bit>
#include <utility>

namespace skyline::engine {

TrialMaker::TrialMaker(const EngineOptions& options, const trial::Evaluator& evaluator,
                       const run::RunState& state)
    : options_(options), evaluator_(evaluator), state_(state) {}

trial::Trial TrialMaker::make(trial::Proposal proposal) {
  require(!std::holds_alternative<trial::Continue>(proposal.start), "trials cannot be continued yet");
  if (options_.inherit) proposal.start = start_of(proposal);
  const trial::TrialNumber number = proposal.trains ? *proposal.trains : next_++;
  trial::Trial trial{number, std::move(proposal)};
  trial.seed = trial_seed(options_.seed, trial.architecture().id, trial.budget().epochs);
  trial.members = evaluator_.members_for(trial);
  require(trial.members > 0, "the evaluator wants a trial to be trained by nobody");
  require(trial.members == 1 || evaluator_.forms_groups(),
          "the evaluator's members_for() asks for a group, but its forms_groups() says that it forms none");
  return trial;
}

/// Children inherit from parents whose weights are there and will stay.
trial::Start TrialMaker::start_of(const trial::Proposal& proposal) const {
  const bool grown =
      proposal.origin == trial::Origin::kMutation || proposal.origin == trial::Origin::kCrossover;
  if (!grown) return proposal.start;
  const bool all_stay = options_.keep_weights == KeepWeights::kAll;
  return choose_start(proposal, [&](trial::TrialNumber number) {
    const trial::CommittedTrial& parent = state_.search_trial(number);
    const bool stays = all_stay ? std::holds_alternative<trial::Measurements>(parent.outcome)
                                : state_.front().contains(number);
    return stays ? &parent : nullptr;
  });
}

std::uint64_t trial_seed(std::uint64_t run_seed, space::ArchId arch, double epochs) {
  return derive_seed(run_seed, "trial",
                     {static_cast<std::uint64_t>(arch), std::bit_cast<std::uint64_t>(epochs)});
}

}  // namespace skyline::engine
