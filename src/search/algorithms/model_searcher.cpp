#include "search/algorithms/model_searcher.hpp"

#include "core/text/wording.hpp"
#include "search/surrogate/lanes.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>
#include <utility>
#include <variant>

namespace skyline::search {
namespace {

constexpr trial::Origin kModel{"model"};
constexpr std::size_t kFirstSuccesses = 3;  // successes that a model needs
constexpr double kLarge = 0.2;              // share of the random architectures that counts as large
constexpr std::size_t kRemembered = 20;     // newest results that tell how good the model is
constexpr std::size_t kContinuable = 100;   // a trial that so many others of its rung beat is let go
constexpr auto rung_of = [](const PromotionCandidate& candidate) { return candidate.position.rung; };
constexpr int kMostDraws = 10;  // draws if candidates are rare; each looks at 100,000 genotypes

}  // namespace

std::string ModelSearcher::finish_reason() const {
  return exhausted_ ? rest_->exhaustion_reason() : counted(made_, "trial") + " done";
}

Answer ModelSearcher::ask(std::size_t room) {
  Answer answer;
  if (awaits_promotion_to_top_) return answer;
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
    if (!ready_.empty()) continue;
    if (rungs_ && known_ < made_) {  // a trial without a result may be continued
      ends_batch_ = true;
      if (known_ < results_) continue;
      break;
    }
    exhausted_ = !stop_.stop_requested();
  }
  return answer;
}

void ModelSearcher::tell_mean(const trial::CommittedTrial& committed, std::size_t count) {
  pending_.push_back({committed, count});
  ++results_;
  const std::optional<trial::Expected>& expected = proposed_.at(committed.trial.number).expected;
  const auto* measured = std::get_if<trial::Measurements>(&committed.outcome);
  if (!expected || !trial::is_whole(committed.outcome)) return;
  const std::vector<objective::Objective>& objectives = pool_.objectives().objectives();
  const auto first = std::ranges::find(objectives, false, &objective::Objective::computed);
  const double value = measured->values[first->measured_index];
  if (!std::isfinite(value)) return;
  checked_.push_back({std::abs(value - expected->value), value >= expected->low && value <= expected->high});
  if (checked_.size() > kRemembered) checked_.pop_front();
}

std::string ModelSearcher::progress_summary() const {
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

bool ModelSearcher::accept(const trial::Proposal& recorded) {
  if (finished() || !ready_.empty()) return false;
  awaits_promotion_to_top_ = recorded.origin == kPromotionToTop && results_ < made_;
  if (awaits_promotion_to_top_) return false;
  begin_batch();
  if (const auto* earlier = std::get_if<trial::Continue>(&recorded.start)) {
    if (!rungs_) return false;
    if (!rungs_->position_of(earlier->from)) {  // the earlier job began the batch anew
      ends_batch_ = true;
      begin_batch();
    }
    const std::optional<RungSystem::Position> position = rungs_->position_of(earlier->from);
    if (!position || !may_rise(*position)) return false;
    rungs_->promote(*position, 0);
  }
  pool_.mark_proposed(recorded.architecture->id);
  proposed_.push_back({std::make_shared<const space::Architecture>(recorded.architecture->unbuilt()), nullptr,
                       recorded.expected, recorded.budget.epochs});
  ++made_;
  return true;
}

/// Notes the results that a batch is chosen by, once it begins. A resumed run may think of the rest of a
/// batch when more results are known. A batch for whose rest nothing was left begins anew, and so does one
/// that was cut short by the number of trials, if it is larger now.
void ModelSearcher::begin_batch() {
  if (made_ % options_.batch == 0 || ends_batch_ || made_ == places_) {
    known_ = results_;
    places_ = options_.trials;
  }
  ends_batch_ = false;
  for (; rungs_ && in_rungs_ < known_; ++in_rungs_) rungs_->tell(pending_[in_rungs_ - learned_].committed);
}

bool ModelSearcher::may_continue(trial::TrialNumber number) const {
  const auto continues_it = [number](const trial::Proposal& proposal) {
    const auto* earlier = std::get_if<trial::Continue>(&proposal.start);
    return earlier != nullptr && earlier->from == number;
  };
  const std::optional<RungSystem::Position> position = rungs_ ? rungs_->position_of(number) : std::nullopt;
  return !position || may_rise(*position) || std::ranges::any_of(ready_, continues_it);
}

/// Returns whether a choice may continue the trial of a position: none has yet.
bool ModelSearcher::may_rise(const RungSystem::Position& position) const {
  return position.rung < rungs_->promoting() &&
         (*rungs_)[position.rung].may_rise(position.member, kContinuable);
}

/// Returns the logarithm of a budget's share of the whole one, 0 for that. A whole lane has the same bits on
/// every processor.
double ModelSearcher::log_share(double epochs) const {
  const double whole = rungs_ ? rungs_->budgets().back() : budget_.epochs;
  if (epochs == whole) return 0;
  const Lane lane = Lane::Constant(epochs / whole).log();
  return lane[0];
}

/// Returns the distance from the smallest budget of a result to the whole one, as log_share() has it.
double ModelSearcher::longest_way() const {
  if (rungs_) return -log_share(rungs_->budgets().front());
  return steps_.empty() ? 0 : -log_share(static_cast<double>(steps_.front()));
}

/// Returns the place of a trial in the model.
CandidatePointer ModelSearcher::point_of(const Proposed& trial) const {
  const double budget = log_share(trial.epochs);
  return budget < 0 ? with_budget(*trial.candidate, budget) : trial.candidate;
}

/// Returns whether it is time for what costs little, as opposed to what leads to a whole training: trials
/// that begin get as many epochs as those that go on.
bool ModelSearcher::is_cheap_turn() const {
  const std::vector<double>& budgets = rungs_->budgets();
  double begun = 0;
  double continued = 0;
  for (const Proposed& trial : proposed_) {
    const auto rung = std::ranges::find(budgets, trial.epochs);
    if (rung == budgets.begin()) {
      begun += trial.epochs;
    } else {
      continued += trial.epochs - *std::prev(rung);
    }
  }
  return begun < continued;
}

/// Tells what may be continued, as results were known when the batch began, and what trials cost.
void ModelSearcher::add_promotions(AcquisitionStrategy::Context& context) const {
  const std::vector<double>& budgets = rungs_->budgets();
  const bool is_cheap = is_cheap_turn();
  context.epochs = is_cheap ? budgets.front() : budgets.back();
  for (std::size_t number = 0; number < proposed_.size(); ++number) {
    const std::optional<RungSystem::Position> position = rungs_->position_of(number);
    if (!position || !may_rise(*position)) continue;
    const double next = is_cheap ? budgets[position->rung + 1] : budgets.back();
    context.promotions.push_back({proposed_[number].candidate, next - budgets[position->rung], *position});
  }
  // What cannot become whole with the trials that are left is not trained further, as long as something can.
  const std::size_t left = places_ - proposed_.size();
  const auto is_late = [&](const PromotionCandidate& candidate) {
    return rungs_->promoting() - rung_of(candidate) > left;
  };
  if (left < budgets.size() && !std::ranges::all_of(context.promotions, is_late)) {
    std::erase_if(context.promotions, is_late);
    context.begins = false;
  }
  if (context.promotions.empty() || has_promoted_to_top()) return;
  // What is best of the whole trials is unknown until there is one: it comes first.
  context.begins = false;
  const std::size_t highest = std::ranges::max(context.promotions, {}, rung_of).position.rung;
  std::erase_if(context.promotions,
                [&](const PromotionCandidate& candidate) { return rung_of(candidate) < highest; });
}

/// Returns what goes on where nothing is left to begin and the model has too few results: the best trial of
/// the highest rung that has one.
CandidatePointer ModelSearcher::best_promotion(const AcquisitionStrategy::Context& context) const {
  for (std::size_t rung = rungs_->promoting(); rung-- > 0;) {
    const std::optional<std::size_t> best = (*rungs_)[rung].next_to_promote(kContinuable);
    for (const PromotionCandidate& candidate : context.promotions) {
      if (candidate.position.rung == rung && candidate.position.member == best) return candidate.candidate;
    }
  }
  return nullptr;
}

/// Returns whether the trials that are left must carry one to the last rung
/// (RungSystem::must_promote_to_top).
bool ModelSearcher::must_promote_to_top() const {
  if (!rungs_) return false;
  double most = 0;
  for (const Proposed& trial : proposed_) most = std::max(most, trial.epochs);
  const std::vector<double>& budgets = rungs_->budgets();
  const auto highest = std::ranges::lower_bound(budgets, most) - budgets.begin();
  return rungs_->must_promote_to_top(static_cast<std::size_t>(highest), places_ - proposed_.size());
}

/// Returns whether some trial is on the last rung or on the way to the next one.
bool ModelSearcher::has_promoted_to_top() const {
  for (std::size_t number = 0; number < proposed_.size(); ++number) {
    const bool is_in_flight = number >= has_result_.size() || !has_result_[number];
    const double epochs = proposed_[number].epochs;
    if (epochs == rungs_->budgets().back() || (is_in_flight && epochs > rungs_->budgets().front()))
      return true;
  }
  return false;
}

/// Returns the rest of the batch. It runs on the thinking thread. Nothing is returned if no architecture is
/// left, or if the run stops.
std::vector<trial::Proposal> ModelSearcher::think() {
  try {
    if (!model_) prepare();
    model_->use_threads(threads_());
    learn();
    std::vector<trial::Proposal> batch;
    for (std::size_t left = std::min(options_.batch - made_ % options_.batch, places_ - made_); left > 0;
         --left) {
      leave_if_stopped();
      choose(batch);
    }
    return batch;
  } catch (const Stopped&) {
    return {};
  } catch (const CostCounter::Stopped&) {
    return {};
  }
}

/// Adds a proposal to the batch, if some architecture is left.
void ModelSearcher::choose(std::vector<trial::Proposal>& batch) {
  const bool promotes_to_top = must_promote_to_top();
  if (promotes_to_top && known_ < proposed_.size()) return;  // the best trial is not known yet
  const bool is_first = proposed_.size() < options_.first || model_->successes() < kFirstSuccesses;
  RandomStream random = stream("candidates", proposed_.size());
  for (; costs_ && in_costs_ < proposed_.size(); ++in_costs_) costs_->add(proposed_[in_costs_].candidate);
  const std::size_t threads = threads_();
  model_->use_threads(threads);
  AcquisitionStrategy::Context context{
      pool_, *embedding_, *model_, costs_ ? &*costs_ : nullptr, proposed_.size(), threads};
  if (promotes_to_top || (rungs_ && !is_first)) add_promotions(context);
  CandidatePointer chosen = !is_first         ? strategy_->choose(context, random)
                            : promotes_to_top ? best_promotion(context)
                                              : next_of_first();
  if (chosen == nullptr) chosen = any_other();
  if (chosen == nullptr && rungs_ && is_first) {
    add_promotions(context);
    chosen = best_promotion(context);
  }
  if (chosen == nullptr) return;
  const auto promotion = std::ranges::find(context.promotions, chosen, &PromotionCandidate::candidate);
  trial::Proposal proposal = promotion == context.promotions.end()
                                 ? begin(*chosen, is_first ? trial::Origin::kInitial : kModel)
                                 : rungs_->promote(promotion->position, promotion->position.rung + 1);
  if (promotes_to_top && proposal.origin == kPromotion) proposal.origin = kPromotionToTop;
  proposed_.push_back({chosen->architecture, chosen, std::nullopt, proposal.budget.epochs});
  const CandidatePointer point = point_of(proposed_.back());
  if (!is_first) proposal.expected = proposed_.back().expected = model_->expected(point);
  if (model_->successes() > 0) model_->add_fantasy(point);
  batch.push_back(std::move(proposal));
}

/// Returns the proposal of an architecture that was not proposed yet.
trial::Proposal ModelSearcher::begin(const Candidate& chosen, trial::Origin origin) {
  std::vector<trial::TrialNumber> parents;
  if (const auto parent = model_->nearest_on_front(chosen)) parents.push_back(*parent);
  pool_.mark_proposed(chosen.architecture->id);
  // The engine may build the network of its own copy.
  auto architecture = std::make_shared<const space::Architecture>(chosen.architecture->unbuilt());
  trial::Proposal proposal = pool_.propose(std::move(architecture), origin, std::move(parents));
  return rungs_ ? *rungs_->begin(std::move(proposal)) : proposal;
}

/// A resumed run prepares later than the first job did, so the samples do not depend on what was proposed.
void ModelSearcher::prepare() {
  const auto sample = [this](RandomStream random) {
    return random_sample(pool_.space(), random, [this] { leave_if_stopped(); });
  };
  embedding_.emplace(pool_.space(), sample(stream_of_features()), longest_way());
  for (const Sampled& one : sample(stream("first", 0))) {
    if (!pool_.objectives().feasible(*one.architecture)) continue;
    first_.push_back(make_candidate(*embedding_, *one.architecture, one.features));
  }
  if (pool_.counts()) count_first();
  std::vector<std::int64_t> flops;
  for (const CandidatePointer& one : first_) flops.push_back(one->architecture->cost.flops);
  std::ranges::sort(flops, std::greater<>());
  if (!flops.empty())
    large_flops_ = flops[static_cast<std::size_t>(kLarge * static_cast<double>(flops.size()))];
  model_.emplace(pool_.objectives(), *embedding_);
  std::vector<CandidatePointer> known;
  for (const trial::CommittedTrial& one : known_results_) {
    leave_if_stopped();
    const space::Architecture& architecture = one.trial.architecture();
    known.push_back(make_candidate(*embedding_, architecture, space::features(architecture)));
  }
  model_->warm_start(known_results_, known);
}

/// Counts costs of the random candidates, as many as a request takes. By them others are estimated.
void ModelSearcher::count_first() {
  first_.resize(std::min(first_.size(), CostCounter::kMostAsked));
  first_ = with_costs(pool_, first_);
  costs_.emplace(*embedding_, pool_.space().counted().size());
  for (const CandidatePointer& one : first_) costs_->add(one);
  std::erase_if(
      first_, [&](const CandidatePointer& one) { return !pool_.objectives().feasible(*one->architecture); });
}

/// Gives the model the results that came since the last thought.
void ModelSearcher::learn() {
  for (Proposed& trial : proposed_) {
    if (trial.candidate != nullptr) continue;
    leave_if_stopped();
    trial.candidate = make_candidate(*embedding_, *trial.architecture, space::features(*trial.architecture));
    trial.architecture = trial.candidate->architecture;  // without the network that was built
  }
  has_result_.resize(proposed_.size());
  for (; learned_ < known_; ++learned_) {
    const auto& [committed, count] = pending_.front();
    const trial::TrialNumber number = committed.trial.number;
    learn(committed, count);
    has_result_[number] = true;
    pending_.pop_front();
  }
  std::vector<CandidatePointer> under_way;
  for (std::size_t number = 0; number < proposed_.size(); ++number) {
    if (!has_result_[number]) under_way.push_back(point_of(proposed_[number]));
  }
  if (model_->successes() > 0) model_->fit(under_way);
}

/// Gives the model a result. The values after declared steps (`search.pruning`) are those of trials with so
/// much of the budget; a pruned trial has no others. A step without the value of a metric that is compared
/// says nothing.
void ModelSearcher::learn(const trial::CommittedTrial& committed, std::size_t count) {
  const Proposed& trial = proposed_.at(committed.trial.number);
  const auto* measured = std::get_if<trial::Measurements>(&committed.outcome);
  const auto lacks = [](const auto& specs, const std::vector<double>& values) {
    return std::ranges::any_of(
        specs, [&](const auto& spec) { return !spec.computed && std::isnan(values[spec.measured_index]); });
  };
  for (std::size_t i = 0; measured != nullptr && i < measured->steps.size(); ++i) {
    const auto& [step, values] = measured->steps[i];
    const objective::ObjectiveSet& needed = pool_.objectives();
    if (lacks(needed.objectives(), values) || lacks(needed.constraints(), values)) continue;
    trial::CommittedTrial part = committed;
    part.outcome = trial::Measurements{values};
    model_->tell(part, with_budget(*trial.candidate, log_share(static_cast<double>(step))));
  }
  if (!trial::has_extent(committed.outcome, trial::Extent::kPruned))
    model_->tell(committed, point_of(trial), count);
}

/// Returns the best known candidate, then the first of the random candidates, or the one that is farthest
/// from all that were proposed. That is then every third: known ones are all good, or all not, so they alone
/// would not tell how far the known results hold here. Where several trials are under way, more than
/// the first ones are chosen before results are known. With one objective they are large networks, as long as
/// none has failed: larger ones are mostly better, and the best ones are to be told apart.
CandidatePointer ModelSearcher::next_of_first() const {
  const bool is_known = !options_.are_far_apart || proposed_.size() % 3 != 2;
  for (std::size_t i = 0; is_known && i < best_known_.size(); ++i) {
    if (pool_.is_proposed(best_known_[i]->id)) continue;
    if (const ArchitecturePointer best = pool_.checked(best_known_[i]))
      return make_candidate(*embedding_, *best, space::features(*best));
  }
  const bool is_large = options_.are_far_apart && proposed_.size() >= options_.first &&
                        model_->has_single_measured_objective() && model_->successes() == model_->results();
  if (const CandidatePointer large = is_large ? farthest_of_first(large_flops_) : nullptr) return large;
  return farthest_of_first(0);
}

/// Returns the first of the random candidates, or the one that is farthest from all that were proposed, among
/// those with so many FLOPs; nullptr if all of them were proposed. Without networks the very first one is
/// near the middle: the ends of ranges are often far from good, and the others that are far apart lie there.
CandidatePointer ModelSearcher::farthest_of_first(std::int64_t least_flops) const {
  CandidatePointer farthest;
  double largest = -std::numeric_limits<double>::infinity();
  const bool is_middle = proposed_.empty() && !pool_.space().has_network();
  for (const CandidatePointer& one : first_) {
    if (pool_.is_proposed(one->architecture->id) || one->architecture->cost.flops < least_flops) continue;
    if (!options_.are_far_apart) return one;
    double nearest = is_middle ? -embedding_->distance(one->point, embedding_->middle())
                               : std::numeric_limits<double>::max();
    for (const Proposed& other : proposed_) {
      nearest = std::min(nearest, embedding_->distance(one->point, other.candidate->point));
    }
    if (nearest <= largest) continue;
    largest = nearest;
    farthest = one;
  }
  return farthest;
}

/// Returns a random candidate where no other way found one, perhaps the last one of the space. A fresh pool
/// draws the same whatever was drawn before, also by an earlier job.
CandidatePointer ModelSearcher::any_other() {
  leave_if_stopped();
  rest_.emplace(
      pool_.space(), pool_.objectives(), budget_, [this] { leave_if_stopped(); }, counter_);
  for (const Proposed& trial : proposed_) rest_->mark_proposed(trial.architecture->id);
  RandomStream random = stream("any", proposed_.size());
  ArchitecturePointer drawn;
  for (int i = 0; i < (pool_.counts() ? 1 : kMostDraws) && drawn == nullptr && !rest_->is_exhausted(); ++i)
    drawn = rest_->draw(random);
  if (drawn == nullptr) return nullptr;
  return make_candidate(*embedding_, *drawn, space::features(*drawn));
}

}  // namespace skyline::search
