#include "skyline/core/error.hpp"
#include "skyline/search/searcher.hpp"

#include "app/commands/command_options.hpp"
#include "app/commands/commands.hpp"
#include "app/config/config_file.hpp"
#include "app/config/run_config.hpp"
#include "app/tuner/tuner_lines.hpp"
#include "core/backoff.hpp"
#include "evaluate/process/reported_lines.hpp"

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

namespace skyline::app {
namespace {

/// The search of a configuration for a program that trains by itself: it proposes what `skyline search` would
/// after the same results. Not thread-safe.
class Sampler {
 public:
  /// @throws UserError if the search continues trials, has no candidate, or has a program that chooses
  explicit Sampler(const RunConfig& config);
  /// Returns the first line, which says what is searched.
  std::string first_line() const;
  /// Returns the answer to a line of the other program, to a question as soon as the search has thought.
  /// @throws UserError with the mistake alone, if the line is refused; then all is as before
  std::string answer_to(std::string_view line);

 private:
  std::string answer(std::size_t count);
  std::string note(ToldResult told);
  void add_told(const space::Genotype& genotype, trial::Outcome outcome);
  const trial::Trial& add(trial::Proposal proposal);

  const RunConfig& config_;
  std::unique_ptr<search::Searcher> searcher_;
  std::vector<trial::Trial> trials_;  // indexed by number
  std::vector<bool> has_result_;      // indexed by number
};

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

Sampler::Sampler(const RunConfig& config) : config_(config) {
  check_samples(config);
  searcher_ = config.make_searcher();
}

std::string Sampler::first_line() const {
  return task_line(
      {config_.space, config_.objectives, config_.sections.run.seed, searcher_->expected_trials()});
}

std::string Sampler::answer_to(std::string_view line) {
  SamplerRequest request =
      read_request(line, config_.space, config_.metrics, config_.objectives.measured_needed());
  if (const auto* count = std::get_if<std::size_t>(&request)) return answer(*count);
  return note(std::get<ToldResult>(std::move(request)));
}

std::string Sampler::answer(std::size_t count) {
  const trial::TrialNumber first = trials_.size();
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
  return answer_line(answer, first, config_.space);
}

const trial::Trial& Sampler::add(trial::Proposal proposal) {
  trial::Trial& trial = trials_.emplace_back();
  trial.number = trials_.size() - 1;
  trial.proposal = std::move(proposal);
  has_result_.push_back(false);
  return trial;
}

/// Tells the search a result. Returns the answer.
std::string Sampler::note(ToldResult told) {
  if (!told.number) {
    add_told(*told.genotype, std::move(told.outcome));
    return told_line(trials_.size() - 1);
  }
  const trial::TrialNumber number = *told.number;
  if (number >= trials_.size()) throw UserError("trial " + std::to_string(number) + " was not proposed");
  if (has_result_[number]) throw UserError("trial " + std::to_string(number) + " has a result already");
  has_result_[number] = true;
  searcher_->tell({trials_[number], std::move(told.outcome), {}});
  return told_line(number);
}

/// Has the search learn from a trial as if it had proposed it. One that has finished needs no result.
void Sampler::add_told(const space::Genotype& genotype, trial::Outcome outcome) {
  const space::BuildAttempt attempt = config_.space.try_build(genotype);
  if (!attempt.architecture) throw UserError(attempt.problem);
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

constexpr std::size_t kInputPieceBytes = std::size_t{1} << 16U;

struct SamplerArguments {
  std::filesystem::path config;
  std::vector<std::string> overrides;
};

/// Answers the lines on standard input.
class SamplerInput final : public evaluate::ReportedLines {
 public:
  explicit SamplerInput(Sampler& sampler) : ReportedLines(kLongestTunerLine), sampler_(sampler) {}
  using ReportedLines::read_rest;

 private:
  void read_line(std::string_view line) override {
    std::string answer;
    try {
      answer = sampler_.answer_to(line);
    } catch (const UserError& mistake) {
      answer = error_line(mistake.what());
    }
    std::cout << answer << std::flush;
  }

  Sampler& sampler_;
};

int run_sampler(const SamplerArguments& arguments) {
  const RunConfig config = RunConfig::parse(load_config(arguments.config, arguments.overrides), false);
  Sampler sampler(config);
  std::cout << sampler.first_line() << std::flush;
  SamplerInput input(sampler);
  std::string piece(kInputPieceBytes, '\0');
  while (!input.mistake()) {
    const ssize_t count = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw FaultError("cannot read standard input: " + system_error_text(errno));
    if (count == 0) {
      input.read_rest();  // The last line may end without a line feed.
      return kExitDone;
    }
    input.feed(std::string_view(piece).substr(0, static_cast<std::size_t>(count)),
               evaluate::ReportChannel::kDescriptor);
  }
  throw UserError("sampler: " + *input.mistake());
}

}  // namespace

RunCommand sampler_command(CLI::App& command) {
  const auto arguments = std::make_shared<SamplerArguments>();
  add_config(command, arguments->config, arguments->overrides);
  return [arguments] { return run_sampler(*arguments); };
}

}  // namespace skyline::app
