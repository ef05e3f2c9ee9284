#include "app/tuner/sampler.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"

#include <iterator>
#include <utility>

namespace skyline::app {
namespace {

constexpr trial::Origin kTold{"told"};

/// @throws UserError for a search whose proposals have no meaning outside of a run
void check_samples(const RunConfig& config) {
  const ConfigNode& search = config.resolved.at("search");
  if (config.sections.costs)
    config.resolved.at("costs").fail(
        "a sampler asks no program: expected `is` metrics, or costs of networks");
  const search::Algorithm& algorithm = config.algorithm();
  if (!algorithm.program_key.empty())
    search.at("algorithm").fail("a program chooses there, and it can be asked itself");
  if (!algorithm.budgets(config.sections.search, {config.evaluator.needs.epochs}).empty())
    search.fail("trials that are continued: a sampler has whole ones alone");
  if (search::repeats_of(config.sections.search) > 1) search.at("repeats").fail("expected 1 for a sampler");
}

}  // namespace

Sampler::Sampler(const RunConfig& config) : config_(config) {
  check_samples(config);
  searcher_ = config.make_searcher();
}

std::string Sampler::first_line() const {
  return task_line(
      {config_.space, config_.objectives, config_.sections.run.seed, searcher_->expected_trials()});
}

std::optional<std::string> Sampler::answer_to(std::string_view line) {
  SamplerRequest request =
      read_request(line, config_.space, config_.metrics, config_.objectives.measured_needed());
  if (const auto* count = std::get_if<std::size_t>(&request)) return answer(*count);
  note(std::get<ToldResult>(std::move(request)));
  return std::nullopt;
}

std::string Sampler::answer(std::size_t count) {
  search::TunerAnswer answer;
  for (Backoff backoff; answer.genotypes.size() < count;) {
    search::Answer more = searcher_->ask(count - answer.genotypes.size());
    for (trial::Proposal& proposal : more.proposals) {
      answer.genotypes.push_back(proposal.architecture->genotype);
      (void)add(std::move(proposal));
    }
    if (more.state == search::Answer::State::kAnswered) break;
    if (more.state == search::Answer::State::kBusy) backoff.pause();
  }
  answer.is_done = searcher_->finished();
  return answer_line(answer, config_.space);
}

const trial::Trial& Sampler::add(trial::Proposal proposal) {
  trial::Trial& trial = trials_.emplace_back();
  trial.number = trials_.size() - 1;
  trial.proposal = std::move(proposal);
  has_result_.push_back(false);
  return trial;
}

/// Tells the search a result.
void Sampler::note(ToldResult told) {
  if (!told.number) return add_told(*told.genotype, std::move(told.outcome));
  const trial::TrialNumber number = *told.number;
  if (number >= trials_.size()) throw UserError("trial " + std::to_string(number) + " was not proposed");
  if (has_result_[number]) throw UserError("trial " + std::to_string(number) + " has a result already");
  has_result_[number] = true;
  searcher_->tell({trials_[number], std::move(told.outcome), {}});
}

/// Has the search learn from a trial as if it had proposed it. One that has finished needs no result.
void Sampler::add_told(const space::Genotype& genotype, trial::Outcome outcome) {
  const space::BuildAttempt attempt = config_.space.try_build(genotype);
  if (!attempt.architecture) throw UserError("parameters: " + attempt.problem);
  trial::Proposal proposal{
      .architecture = std::make_shared<const space::Architecture>(attempt.architecture->unbuilt()),
      .origin = kTold,
      .parents = {},
      .budget = {config_.evaluator.needs.epochs}};
  const bool has_finished = searcher_->finished();
  if (!has_finished && !searcher_->accept(proposal)) {
    throw UserError("`algorithm: " + config_.algorithm().name +
                    "` takes no results of trials that it has not proposed");
  }
  const trial::Trial& trial = add(std::move(proposal));
  has_result_.back() = true;
  if (!has_finished) searcher_->tell({trial, std::move(outcome), {}});
}

}  // namespace skyline::app
