#include "skyline/core/random.hpp"
#include "skyline/search/candidate_pool.hpp"

#include "core/text/wording.hpp"
#include "search/algorithms/algorithms.hpp"
#include "search/algorithms/candidate_set.hpp"
#include "search/algorithms/trial_model.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <functional>
#include <future>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace skyline::search {
namespace {

constexpr trial::Origin kModel{"model"};

constexpr std::size_t kFirstTrials = 5;     // chosen without a model
constexpr std::size_t kFirstSuccesses = 3;  // that a model needs
constexpr std::size_t kSample = 300;        // random architectures, for the features and for the first trials
constexpr std::size_t kParents = 10;        // best trials whose neighbourhood is looked at
constexpr std::size_t kClimbs = 2;          // rounds of the local search
constexpr std::size_t kRemembered = 20;     // newest results that tell how good the model is
constexpr int kMostDraws = 10;              // where candidates are rare; each looks at 100,000 genotypes
constexpr std::size_t kClimbers = 3;        // candidates from which a round starts

struct SkylineOptions {
  std::size_t trials = 100;
  std::size_t batch = 1;
};

/// Chooses trials by a model of all results so far (TrialModel): those whose expected improvement of the best
/// value, or of the front's volume, is the largest among many candidates (CandidateSet). With one objective
/// every other trial is that of the largest upper confidence bound. The first trials are far from each other.
/// It thinks on a thread of its own.
///
/// A batch of proposals is chosen at once, from the results that are known when its first one is asked for.
class SkylineSearch final : public Searcher {
 public:
  SkylineSearch(const SkylineOptions& options, const SearchProblem& problem)
      : options_(options),
        seed_(problem.seed),
        budget_(problem.budget),
        pool_(problem.space, problem.objectives, problem.budget, [this] { leave_if_stopped(); }) {}
  SkylineSearch(const SkylineSearch&) = delete;
  SkylineSearch& operator=(const SkylineSearch&) = delete;
  ~SkylineSearch() override { stop_.request_stop(); }

  Answer ask(std::size_t room) override;
  bool accept(const trial::Proposal& recorded) override;
  void tell(const trial::CommittedTrial& committed) override;
  void stop() override { stop_.request_stop(); }
  bool finished() const override { return exhausted_ || made_ >= options_.trials; }
  bool gave_up() const override { return exhausted_ && !rest_->is_exhausted(); }
  std::string finish_reason() const override {
    return exhausted_ ? rest_->exhaustion_reason() : counted(options_.trials, "trial") + " done";
  }
  std::string remark() const override;
  std::size_t expected_trials() const override {
    return exhausted_ ? made_ : std::min(options_.trials, pool_.most_candidates());
  }

 private:
  /// A trial in the order of proposals.
  struct Proposed {
    ArchitecturePointer architecture;
    CandidatePointer candidate;             // nullptr until the model needs it
    std::optional<Expected> expected = {};  // by the model that chose it
  };

  /// A result of a trial that a model chose.
  struct Checked {
    double error = 0;        // distance from what was expected
    bool is_within = false;  // within one standard deviation
  };

  /// What a thought throws to end when the run stops.
  struct Stopped {};

  void leave_if_stopped() const {
    if (stop_.stop_requested()) throw Stopped();
  }
  RandomStream stream(std::string_view purpose, std::uint64_t number) const {
    return RandomStream(derive_seed(seed_, "search.skyline." + std::string(purpose), {number}));
  }
  void begin_batch();
  std::vector<trial::Proposal> think();
  void choose(std::vector<trial::Proposal>& batch);
  void prepare();
  void learn();
  std::vector<Sampled> sample(RandomStream& random) const;
  CandidatePointer next_of_first() const;
  CandidatePointer next_by_model();
  CandidatePointer any_other();

  SkylineOptions options_;
  std::uint64_t seed_;
  trial::Budget budget_;
  std::stop_source stop_;
  std::deque<trial::Proposal> ready_;  // chosen and not handed out
  std::size_t told_ = 0;               // number of results
  bool exhausted_ = false;
  std::deque<Checked> checked_;  // the newest ones
  // While there is a thought, its thread reads the next two, and it alone uses what follows them.
  std::size_t made_ = 0;   // number of proposals that were handed out or accepted
  std::size_t known_ = 0;  // number of results when the present batch began
  CandidatePool pool_;
  std::optional<CandidatePool> rest_;         // of the last choice that had no other way
  std::deque<trial::CommittedTrial> untold_;  // results that the model does not have yet
  std::size_t learned_ = 0;                   // number of results that it has
  std::vector<Proposed> proposed_;            // indexed by number
  std::vector<bool> has_result_;              // indexed by number
  std::optional<Embedding> embedding_;
  std::optional<CandidateSet> candidates_;
  std::optional<TrialModel> model_;
  std::vector<CandidatePointer> first_;                // random, for the first trials
  std::future<std::vector<trial::Proposal>> thought_;  // destroyed first, which waits for the thread
};

Answer SkylineSearch::ask(std::size_t room) {
  Answer answer;
  while (answer.proposals.size() < room && !finished()) {
    if (!ready_.empty()) {
      answer.proposals.push_back(std::move(ready_.front()));
      ready_.pop_front();
      ++made_;
      continue;
    }
    if (!thought_.valid()) {
      begin_batch();
      thought_ = std::async(std::launch::async, [this] { return think(); });
    }
    if (thought_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      answer.state = Answer::State::kBusy;
      break;
    }
    std::ranges::move(thought_.get(), std::back_inserter(ready_));
    exhausted_ = ready_.empty() && !stop_.stop_requested();
  }
  return answer;
}

void SkylineSearch::tell(const trial::CommittedTrial& committed) {
  untold_.push_back(committed);
  ++told_;
  const std::optional<Expected>& expected = proposed_.at(committed.trial.number).expected;
  const auto* measured = std::get_if<trial::Measurements>(&committed.outcome);
  if (!expected || measured == nullptr) return;
  const std::vector<objective::Objective>& objectives = pool_.objectives().objectives();
  const auto first = std::ranges::find(objectives, false, &objective::Objective::computed);
  const double value = measured->values[first->measured_index];
  if (!std::isfinite(value)) return;
  checked_.push_back({std::abs(value - expected->value), value >= expected->low && value <= expected->high});
  if (checked_.size() > kRemembered) checked_.pop_front();
}

std::string SkylineSearch::remark() const {
  if (checked_.empty()) return {};
  const auto first =
      std::ranges::find(pool_.objectives().objectives(), false, &objective::Objective::computed);
  double sum = 0;
  for (const Checked& one : checked_) sum += one.error;
  std::array<char, 32> mean{};
  std::snprintf(mean.data(), mean.size(), "%.2g", sum / static_cast<double>(checked_.size()));
  return "of the last " + counted(checked_.size(), "choice") + " the model predicted " + first->metric +
         " within " + mean.data() + " on average, " +
         std::to_string(std::ranges::count(checked_, true, &Checked::is_within)) +
         " within a standard deviation";
}

bool SkylineSearch::accept(const trial::Proposal& recorded) {
  if (finished() || !ready_.empty()) return false;
  begin_batch();
  pool_.take(recorded.architecture->id);
  proposed_.push_back(
      {std::make_shared<const space::Architecture>(recorded.architecture->unbuilt()), nullptr});
  ++made_;
  return true;
}

/// Notes the results that a batch is chosen by, once it begins. A resumed run may think of the rest of a
/// batch when more results are known.
void SkylineSearch::begin_batch() {
  if (made_ % options_.batch == 0) known_ = told_;
}

/// Returns the rest of the batch. It runs on the thinking thread. Nothing is returned if no architecture is
/// left, or if the run stops.
std::vector<trial::Proposal> SkylineSearch::think() {
  try {
    if (!model_) prepare();
    learn();
    std::vector<trial::Proposal> batch;
    for (std::size_t left = std::min(options_.batch - made_ % options_.batch, options_.trials - made_);
         left > 0; --left) {
      leave_if_stopped();
      choose(batch);
    }
    return batch;
  } catch (const Stopped&) {
    return {};
  }
}

/// Adds a proposal to the batch, if some architecture is left.
void SkylineSearch::choose(std::vector<trial::Proposal>& batch) {
  const bool is_first = proposed_.size() < kFirstTrials || model_->successes() < kFirstSuccesses;
  CandidatePointer chosen = is_first ? next_of_first() : next_by_model();
  if (chosen == nullptr) chosen = any_other();
  if (chosen == nullptr) return;
  std::vector<trial::TrialNumber> parents;
  if (const auto parent = model_->nearest_on_front(*chosen)) parents.push_back(*parent);
  const std::optional<Expected> expected = is_first ? std::nullopt : model_->expected(chosen);
  if (model_->successes() > 0) model_->believe(chosen);
  pool_.take(chosen->architecture->id);
  proposed_.push_back({chosen->architecture, chosen, expected});
  // The engine may build the network of its own copy.
  auto architecture = std::make_shared<const space::Architecture>(chosen->architecture->unbuilt());
  batch.push_back(pool_.propose(std::move(architecture), is_first ? trial::Origin::kInitial : kModel,
                                std::move(parents)));
}

/// A resumed run prepares later than the first job did, so the samples do not depend on what was taken.
void SkylineSearch::prepare() {
  RandomStream of_space(derive_seed(0, "search.skyline.features"));
  embedding_.emplace(pool_.space(), sample(of_space));
  candidates_.emplace(pool_, *embedding_);
  RandomStream of_run = stream("first", 0);
  for (const Sampled& one : sample(of_run)) {
    if (!pool_.objectives().feasible(one.architecture->cost)) continue;
    first_.push_back(make_candidate(*embedding_, *one.architecture, one.features));
  }
  model_.emplace(pool_.objectives(), *embedding_);
}

/// Gives the model the results that came since the last thought.
void SkylineSearch::learn() {
  for (Proposed& trial : proposed_) {
    if (trial.candidate != nullptr) continue;
    leave_if_stopped();
    trial.candidate = make_candidate(*embedding_, *trial.architecture, space::features(*trial.architecture));
    trial.architecture = trial.candidate->architecture;  // without the network that was built
  }
  has_result_.resize(proposed_.size());
  for (; learned_ < known_; ++learned_) {
    const trial::CommittedTrial& committed = untold_.front();
    const trial::TrialNumber number = committed.trial.number;
    model_->tell(committed, proposed_.at(number).candidate);
    has_result_[number] = true;
    untold_.pop_front();
  }
  std::vector<CandidatePointer> under_way;
  for (std::size_t number = 0; number < proposed_.size(); ++number) {
    if (!has_result_[number]) under_way.push_back(proposed_[number].candidate);
  }
  if (model_->successes() > 0) model_->fit(under_way);
}

/// Draws random architectures of the space, each once.
std::vector<Sampled> SkylineSearch::sample(RandomStream& random) const {
  std::vector<Sampled> drawn;
  std::unordered_set<space::ArchId> ids;
  for (std::size_t i = 0; i < kSample; ++i) {
    leave_if_stopped();
    const space::BuildAttempt attempt = pool_.space().try_build(pool_.space().sample(random));
    if (!attempt.architecture || !ids.insert(attempt.architecture->id).second) continue;
    drawn.push_back({std::make_shared<const space::Architecture>(attempt.architecture->unbuilt()),
                     space::features(*attempt.architecture)});
  }
  return drawn;
}

/// Returns the random candidate that is farthest from all that were proposed.
CandidatePointer SkylineSearch::next_of_first() const {
  CandidatePointer farthest;
  double largest = -1;
  for (const CandidatePointer& one : first_) {
    if (pool_.is_taken(one->architecture->id)) continue;
    double nearest = std::numeric_limits<double>::max();
    for (const Proposed& other : proposed_) {
      nearest = std::min(nearest, embedding_->distance(one->point, other.candidate->point));
    }
    if (nearest <= largest) continue;
    largest = nearest;
    farthest = one;
  }
  return farthest;
}

CandidatePointer SkylineSearch::next_by_model() {
  const std::uint64_t number = proposed_.size();
  RandomStream random = stream("candidates", number);
  const auto kind =
      model_->has_bound() && number % 2 == 1 ? TrialModel::Worth::kBound : TrialModel::Worth::kImprovement;
  std::vector<CandidatePointer> drawn = candidates_->draw(model_->best(kParents), number, random);
  std::vector<double> worth;
  std::vector<std::size_t> order;  // the worthiest first
  const auto judge = [&] {
    const std::vector<CandidatePointer> added(drawn.begin() + std::ssize(worth), drawn.end());
    const Eigen::ArrayXd its_worth = model_->worth(added, kind);
    worth.insert(worth.end(), its_worth.begin(), its_worth.end());
    order.resize(drawn.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return worth[i]; });
  };
  judge();
  for (std::size_t climb = 0; climb < kClimbs; ++climb) {
    for (std::size_t i = 0; i < std::min(kClimbers, order.size()); ++i) {
      candidates_->add_near(CandidatePointer(drawn[order[i]]), number, random, drawn);
    }
    judge();
  }
  if (drawn.empty()) return nullptr;
  return drawn[order.front()];
}

/// Returns a random candidate where no other way found one, perhaps the last one of the space. A fresh pool
/// draws the same whatever was drawn before, also by an earlier job.
CandidatePointer SkylineSearch::any_other() {
  leave_if_stopped();
  rest_.emplace(pool_.space(), pool_.objectives(), budget_, [this] { leave_if_stopped(); });
  for (const Proposed& trial : proposed_) rest_->take(trial.architecture->id);
  RandomStream random = stream("any", proposed_.size());
  ArchitecturePointer drawn;
  for (int i = 0; i < kMostDraws && drawn == nullptr && !rest_->is_exhausted(); ++i)
    drawn = rest_->draw(random);
  if (drawn == nullptr) return nullptr;
  return make_candidate(*embedding_, *drawn, space::features(*drawn));
}

}  // namespace

Algorithm skyline_search() {
  using Options = SkylineOptions;
  const Range counted = at_least(1).at_most(kMostCounted);
  const OptionTable<Options> options{
      {"trials", &Options::trials, counted, "Maximum number of trials of the search.", KeyRule::kMayChange},
      {"batch", &Options::batch, counted,
       "Number of trials that are chosen at once, from the same results: the model then costs less for "
       "each."}};
  Algorithm algorithm =
      make_algorithm<SkylineSearch>("skyline", "A model of the results chooses the trials.", options);
  algorithm.window = 8;
  algorithm.aims_at_volumes = true;
  return algorithm;
}

}  // namespace skyline::search
