#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/search/candidate_pool.hpp"
#include "skyline/search/tuner.hpp"

#include "core/config/argument_vector.hpp"
#include "core/text/wording.hpp"
#include "search/algorithms/algorithms.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace skyline::search {
namespace {

constexpr trial::Origin kProgram{"program"};
constexpr const char* kRunKey = "run";
constexpr std::uint64_t kTunerSeeds = 0x7FFFFFFF;  // every random number generator takes them
constexpr std::size_t kMostProposals = 1'000;      // limit for an answer

struct ProgramOptions : TunerProgram {
  std::size_t trials = 100;
};

/// Returns the computed constraint that an architecture breaks, for messages.
std::string broken_constraint(const objective::ObjectiveSet& objectives,
                              const space::Architecture& architecture) {
  for (const objective::Constraint& constraint : objectives.constraints()) {
    if (!constraint.computed) continue;
    const auto value = objective::find_computed(architecture, constraint.metric);
    if (!value || (*value >= constraint.low && *value <= constraint.high)) continue;
    return "breaks the constraint `" + to_text(constraint) + "`: it has " + objective::number_text(*value);
  }
  return "breaks a constraint";
}

/// Has a program of the user choose, which is asked for one trial after the other, as windows have room. The
/// questions and results that it gets are the same in the same order after a resume, whichever of its answers
/// were recorded.
class ProgramSearch final : public Searcher {
 public:
  ProgramSearch(const ProgramOptions& options, const SearchProblem& problem)
      : options_(options),
        seed_(problem.seed),
        known_(problem.known.begin(), problem.known.end()),
        start_tuner_(problem.start_tuner),
        pool_(problem.space, problem.objectives, problem.budget, {}, problem.counter),
        stand_in_(derive_seed(problem.seed, "search.program.stand_in")) {}

  Answer ask(std::size_t room) override;
  bool accept(const trial::Proposal& recorded) override;
  void tell(const trial::CommittedTrial& committed) override;
  void stop() override {
    if (tuner_ != nullptr) tuner_->end();
  }
  bool finished() const override { return is_done_ || made() == options_.trials; }
  void allow_one_more() override { ++options_.trials; }
  std::string finish_reason() const override {
    return is_done_ ? ended_ : counted(made(), "trial") + " done";
  }
  std::size_t expected_trials() const override {
    return is_done_ ? made() : std::min(options_.trials, pool_.most_candidates());
  }

 private:
  std::size_t made() const { return numbers_.size(); }
  TunerQuestion question() const {
    const std::uint64_t number = made();
    return {.seed = derive_seed(seed_, "search.program", {number}) & kTunerSeeds, .first = number};
  }
  Tuner& tuner();
  std::optional<trial::Proposal> stand_in();
  std::optional<trial::Proposal> next();
  std::optional<trial::Proposal> first_candidate(const std::vector<space::Genotype>& genotypes);
  std::string mistake_of(const space::Genotype& genotype) const;
  ArchitecturePointer with_costs(const space::Architecture& architecture) const {
    return pool_.count_costs({std::make_shared<const space::Architecture>(architecture)}).front();
  }
  [[noreturn]] void refuse(const std::string& mistake) const;

  ProgramOptions options_;
  std::uint64_t seed_;
  std::vector<trial::CommittedTrial> known_;
  TunerStart start_tuner_;
  CandidatePool pool_;
  RandomStream stand_in_;
  std::unordered_map<space::ArchId, trial::TrialNumber> numbers_;  // all trials so far
  std::size_t told_ = 0;
  bool is_asked_ = false;  // a question has no answer yet
  bool is_done_ = false;   // nothing more will be proposed
  std::string ended_;      // why, if it is done before all trials
  std::unique_ptr<Tuner> tuner_;
};

/// Starts the program when it is first needed, with what is known before the search.
Tuner& ProgramSearch::tuner() {
  if (tuner_ != nullptr) return *tuner_;
  const std::uint64_t seed = derive_seed(seed_, "search.program") & kTunerSeeds;
  tuner_ = start_tuner_(options_, {pool_.space(), pool_.objectives(), seed, options_.trials});
  for (const trial::CommittedTrial& known : known_) tuner_->tell(std::nullopt, known);
  return *tuner_;
}

Answer ProgramSearch::ask(std::size_t room) {
  Answer answer;
  while (answer.proposals.size() < room && !finished()) {
    std::optional<trial::Proposal> proposal = start_tuner_ ? next() : stand_in();
    if (!proposal) {
      if (!is_done_) answer.state = Answer::State::kBusy;
      break;
    }
    answer.proposals.push_back(*std::move(proposal));
  }
  return answer;
}

/// Returns a random architecture in place of a choice, where no program is started.
std::optional<trial::Proposal> ProgramSearch::stand_in() {
  const ArchitecturePointer drawn = pool_.draw(stand_in_);
  if (drawn == nullptr) {
    is_done_ = true;
    ended_ = pool_.exhaustion_reason();
    return std::nullopt;
  }
  numbers_.emplace(drawn->id, made());
  return pool_.propose(drawn, kProgram);
}

/// Returns the program's next choice; nullopt if it has not answered yet, or is done.
std::optional<trial::Proposal> ProgramSearch::next() {
  if (!is_asked_) tuner().ask(question());
  is_asked_ = true;
  const std::optional<TunerAnswer> answer = tuner().answer();
  if (!answer) return std::nullopt;
  is_asked_ = false;
  if (answer->genotypes.empty() && !answer->is_done)
    refuse("expected a proposal, or `\"done\": true`, got neither");
  if (answer->genotypes.size() > kMostProposals) {
    refuse("expected at most " + std::to_string(kMostProposals) + " proposals, got " +
           std::to_string(answer->genotypes.size()));
  }
  is_done_ = answer->is_done;
  if (is_done_) ended_ = "the program of search.run has no more";
  if (answer->genotypes.empty()) return std::nullopt;
  return first_candidate(answer->genotypes);
}

/// Returns the first of the genotypes that is a candidate. If the space has no candidate left, it ends the
/// search and returns nullopt.
/// @throws UserError if only others than these are candidates
std::optional<trial::Proposal> ProgramSearch::first_candidate(const std::vector<space::Genotype>& genotypes) {
  for (const space::Genotype& genotype : genotypes) {
    ArchitecturePointer chosen = pool_.candidate(genotype);
    if (chosen == nullptr) continue;
    numbers_.emplace(chosen->id, made());
    pool_.mark_proposed(chosen->id);
    return pool_.propose(std::move(chosen), kProgram);
  }
  if (pool_.draw(stand_in_) != nullptr) {
    const bool is_one = genotypes.size() == 1;
    refuse((is_one ? "" : "none of " + std::to_string(genotypes.size()) + " can be, the first of which ") +
           mistake_of(genotypes.front()));
  }
  is_done_ = true;
  ended_ = pool_.exhaustion_reason();
  return std::nullopt;
}

/// Returns why a genotype is no candidate.
std::string ProgramSearch::mistake_of(const space::Genotype& genotype) const {
  const std::string place = pool_.space().describe(genotype) + ": ";
  const space::BuildAttempt attempt = pool_.space().try_build(genotype);
  if (!attempt.architecture) return place + attempt.problem;
  if (const auto earlier = numbers_.find(attempt.architecture->id); earlier != numbers_.end())
    return place + "was proposed before, as trial " + std::to_string(earlier->second);
  return place + broken_constraint(pool_.objectives(), *with_costs(*attempt.architecture));
}

void ProgramSearch::refuse(const std::string& mistake) const {
  throw UserError("search.run: the proposal for trial " + std::to_string(made()) + ": " + mistake);
}

bool ProgramSearch::accept(const trial::Proposal& recorded) {
  if (finished() || is_asked_ || !start_tuner_) return false;
  tuner().repeat(question(), {recorded.architecture->genotype});
  numbers_.emplace(recorded.architecture->id, made());
  pool_.mark_proposed(recorded.architecture->id);
  return true;
}

void ProgramSearch::tell(const trial::CommittedTrial& committed) {
  ++told_;
  if (!start_tuner_) return;
  tuner().tell(committed.trial.number, committed);
  if (finished() && told_ == made()) tuner().end();
}

}  // namespace

Algorithm program_search() {
  using Options = ProgramOptions;
  const OptionTable<Options> options{
      {"trials", &Options::trials, at_least(1).at_most(kMostCounted),
       "Maximum number of trials of the search.", KeyRule::kMayChange},
      {kRunKey, &Options::run, argument_vector(),
       "The program and its arguments. It reads questions and results, and writes proposals, as lines of "
       "JSON (algorithms.md).",
       KeyRule::kRequired},
      {"timeout", &Options::timeout_s, duration(above(0)),
       "How long it may take for an answer, or be silent while it is sent something; then the job ends.",
       KeyRule::kMayChange}};
  Algorithm algorithm =
      make_algorithm<ProgramSearch>("program", "A program of your own chooses the trials.", options);
  algorithm.window = 8;
  algorithm.uses_known = true;
  algorithm.program_key = kRunKey;
  return algorithm;
}

}  // namespace skyline::search
