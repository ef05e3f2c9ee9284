#include "engine/loop/trial_maker.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include "space/network/network_alignment.hpp"
#include "trial/refit.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

namespace skyline::engine {
namespace {

/// Returns a predicted cost as a whole number, which stays the same when it is written and read.
std::uint64_t whole_cost(double predicted) {
  constexpr double kMost = 0x1p63;
  require(predicted > 0 && std::isfinite(predicted),
          "the evaluator's predicted_cost() is not above 0 and finite");
  return static_cast<std::uint64_t>(std::round(std::clamp(predicted, 1.0, kMost)));
}

}  // namespace

TrialMaker::TrialMaker(const EngineOptions& options, const trial::Evaluator& evaluator,
                       const run::RunState& state, std::optional<search::PruningBars> bars)
    : options_(options), evaluator_(evaluator), state_(state), bars_(std::move(bars)) {}

void TrialMaker::recorded(const trial::Trial& trial) {
  if (trial.is_final()) return;
  if (trial.number >= recorded_.size()) recorded_.resize(trial.number + 1);
  recorded_[trial.number] = true;
}

trial::Trial TrialMaker::make(trial::Proposal proposal) {
  if (const std::size_t parents = proposal.parents.size(); parents > trial::kMostParents) {
    throw InternalError("the searcher proposed a trial with " + std::to_string(parents) +
                        " parents, expected at most " + std::to_string(trial::kMostParents));
  }
  if (options_.inherit) proposal.start = start_of(proposal);
  if (auto* start = std::get_if<trial::Continue>(&proposal.start)) complete(*start, proposal);
  const trial::TrialNumber number = proposal.trains ? *proposal.trains : next_++;
  trial::Trial trial{number, std::move(proposal)};
  trial.proposal.horizon = trial.horizon();
  trial.seed = trial_seed(options_.seed, trial.architecture().id, trial.horizon(), trial.proposal.repeat,
                          trial::is_refit(trial) ? 0 : trial.proposal.final_repeat);
  trial.members = evaluator_.members_for(trial);
  require(trial.members > 0, "the evaluator wants a trial to be trained by nobody");
  require(trial.members == 1 || evaluator_.forms_groups(),
          "the evaluator's members_for() asks for a group, but its forms_groups() says that it forms none");
  trial.cost = whole_cost(evaluator_.predicted_cost(trial));
  return trial;
}

void TrialMaker::add_bars(trial::Trial& trial) {
  if (bars_ && !trial.is_final()) trial.bars = bars_->bars();
}

/// Returns the start. Children inherit from parents whose weights exist and are kept; a start that the
/// searcher chose is not changed.
trial::Start TrialMaker::start_of(const trial::Proposal& proposal) const {
  if (proposal.parents.empty() || !std::holds_alternative<trial::Fresh>(proposal.start))
    return proposal.start;
  const bool all_stay = options_.keep_weights == KeepWeights::kAll;
  const auto heritable = [&](trial::TrialNumber number) -> run::SharedTrial {
    run::SharedTrial parent = state_.search_trial(number);
    const bool stays = all_stay ? trial::is_whole(parent->outcome) : state_.on_front(number);
    return stays ? parent : nullptr;
  };
  return choose_start(proposal, heritable, options_.folders);
}

/// Fills in the facts about the trial that is continued.
void TrialMaker::complete(trial::Continue& start, trial::Proposal& proposal) const {
  const run::SharedTrial committed = state_.search_trial(start.from);
  const trial::Trial& earlier = committed->trial;
  proposal.horizon = earlier.horizon();
  proposal.repeat = earlier.proposal.repeat;
  const auto check = [&](bool holds, const char* problem) {
    if (!holds) {
      throw InternalError("the searcher continues trial " + std::to_string(start.from) + " " + problem);
    }
  };
  check(!proposal.trains, "in a full training, which starts fresh");
  check(proposal.architecture->id == earlier.architecture().id, "with another architecture");
  check(proposal.budget.epochs > earlier.budget().epochs, "with a budget that is not larger");
  check(proposal.budget.epochs <= proposal.horizon.epochs, "with a budget beyond its horizon");
  start.epochs = earlier.budget().epochs;
  start.began.reset();
  if (const trial::Inherit* inherit = earlier.inherits()) start.began = *inherit;
  const bool is_recorded = start.from < recorded_.size() && recorded_[start.from];
  start.holder = is_recorded ? -1 : committed->timing.rank;
}

std::uint64_t trial_seed(std::uint64_t run_seed, space::ArchId arch, const trial::Budget& horizon,
                         std::uint32_t repeat, std::uint32_t final_repeat) {
  if (repeat > 0) run_seed = derive_seed(run_seed, "engine.seeds", {repeat});
  if (final_repeat > 0) run_seed = derive_seed(run_seed, "engine.final_repeats", {final_repeat});
  return derive_seed(run_seed, "trial",
                     {static_cast<std::uint64_t>(arch), std::bit_cast<std::uint64_t>(horizon.epochs)});
}

trial::Start choose_start(const trial::Proposal& proposal,
                          const std::function<run::SharedTrial(trial::TrialNumber)>& heritable,
                          bool folders) {
  const auto share_of = [&](const space::Architecture& architecture) {
    if (folders) return 1.0;
    const space::Network& child = proposal.architecture->network();
    const space::Network& parent = architecture.network();
    return space::inherited_share(parent, child, space::align(parent, child));
  };
  trial::Inherit best;
  for (const trial::TrialNumber number : proposal.parents) {
    const run::SharedTrial committed = heritable(number);
    if (committed == nullptr) continue;
    const space::Architecture& architecture = committed->trial.architecture();
    const double share = share_of(architecture);
    if (share <= best.share) continue;
    best = {number, std::make_shared<const space::Architecture>(architecture.unbuilt()), share,
            committed->timing.rank};
  }
  if (best.share == 0) return trial::Fresh{};
  return best;
}

}  // namespace skyline::engine
