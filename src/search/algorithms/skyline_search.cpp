#include "core/config/option_list.hpp"
#include "search/algorithms/algorithms.hpp"
#include "search/algorithms/known_order.hpp"
#include "search/algorithms/model_searcher.hpp"
#include "search/model/likely_draws.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace skyline::search {
namespace {

constexpr std::size_t kFirstTrials = 5;        // chosen without a model
constexpr std::size_t kFirstWithKnown = 3;     // the same with as many known architectures as those, or more
constexpr std::size_t kParents = 10;           // best trials whose neighbourhood is looked at
constexpr std::size_t kLocalSearchRounds = 2;  // rounds of the local search
constexpr std::size_t kMostLiked = 512;        // candidates whose costs are counted at most to find one
constexpr std::size_t kLocalSearchStarts = 3;  // candidates from which a round starts
constexpr std::size_t kLikelyDraws = 24;       // draws like the best trials among which one is chosen

struct SkylineOptions {
  std::size_t trials = 100;
  std::size_t batch = 1;
  std::optional<std::vector<double>> budgets;

  std::vector<double> budgets_of(const trial::Budget&) const {
    return budgets.value_or(std::vector<double>());
  }
};

/// Chooses the trial whose expected improvement of the best value, or of the front's volume, is the largest
/// among many candidates (CandidateSet). Every other trial is chosen in another way: with one objective that
/// of the largest upper confidence bound, with several by the volume of values in place of targets. Without
/// networks, each second one is the draw in the likeness of the best trials (LikelyDraws) that promises the
/// largest improvement, and of the others every other one is chosen in that other way. Where trials may be
/// continued, that is for each epoch that it costs. A way by which nothing is gained gives way to the next
/// one.
class ImprovementStrategy final : public AcquisitionStrategy {
 public:
  CandidatePointer choose(const Context& context, RandomStream& random) override {
    if (!candidates_) candidates_.emplace(context.pool, context.embedding);
    candidates_->use_threads(context.threads);
    std::vector<CandidatePointer> drawn;
    for (const PromotionCandidate& promotion : context.promotions) drawn.push_back(promotion.candidate);
    const std::vector<CandidatePointer> ranked = ranked_trials(context);
    std::vector<CandidatePointer> fresh;
    if (!ranked.empty() && context.number % 2 == 1) fresh = likely_draws(context, ranked, random);
    const Acquisition first =
        fresh.empty() ? turn(context, ranked.empty() ? 1 : 2) : Acquisition::kImprovement;
    const bool climbs = context.begins && fresh.empty();
    if (climbs) fresh = candidates_->draw(context.model.best(kParents), context.number, random);
    std::ranges::move(fresh, std::back_inserter(drawn));
    count_best(context, context.promotions.size(), drawn);
    Acquisition kind = Acquisition::kImprovement;
    std::vector<double> values;
    std::vector<std::size_t> order;  // descending by value
    const auto judge = [&] {
      const std::vector<CandidatePointer> added(drawn.begin() + std::ssize(values), drawn.end());
      Eigen::ArrayXd added_values = context.model.acquisition(added, kind);
      for (std::size_t i = 0;
           !context.promotions.empty() && kind != Acquisition::kFallback && i < added.size(); ++i) {
        const std::size_t place = values.size() + i;
        added_values[static_cast<Eigen::Index>(i)] /=
            place < context.promotions.size() ? context.promotions[place].epochs : context.epochs;
      }
      values.insert(values.end(), added_values.begin(), added_values.end());
      order.resize(drawn.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return values[i]; });
    };
    for (const Acquisition next : {first, Acquisition::kImprovement, Acquisition::kFallback}) {
      kind = next;
      values.clear();
      judge();
      if (drawn.empty() || values[order.front()] > 0) break;
    }
    for (std::size_t round = 0; round < kLocalSearchRounds && climbs; ++round) {
      for (std::size_t i = 0; i < std::min(kLocalSearchStarts, order.size()); ++i) {
        candidates_->add_near(CandidatePointer(drawn[order[i]]), context.number, random, drawn);
      }
      count_best(context, values.size(), drawn);
      judge();
    }
    if (drawn.empty()) return nullptr;
    return drawn[order.front()];
  }

 private:
  using Acquisition = TrialModel::Acquisition;

  /// @param period  number of trials that have the same turn
  static Acquisition turn(const Context& context, std::uint64_t period = 1) {
    if (context.number / period % 2 == 0) return Acquisition::kImprovement;
    return context.model.has_single_measured_objective() ? Acquisition::kUpperConfidenceBound
                                                         : Acquisition::kHypervolume;
  }

  /// Returns the trials in whose likeness each second one is chosen, best first: in a search of one measured
  /// objective without networks. Where many parameters hardly matter, or many results are equal, the model
  /// alone finds as much to learn near the best trials as elsewhere, and leaves late.
  static std::vector<CandidatePointer> ranked_trials(const Context& context) {
    const bool is_plain = !context.pool.space().has_network() && context.costs == nullptr &&
                          context.model.has_single_measured_objective();
    return is_plain ? context.model.ranked_trials() : std::vector<CandidatePointer>();
  }

  std::vector<CandidatePointer> likely_draws(const Context& context,
                                             const std::vector<CandidatePointer>& ranked,
                                             RandomStream& random) {
    const LikelyDraws draws(context.pool.space(), context.embedding, ranked);
    std::vector<space::Genotype> genotypes;
    for (std::size_t i = 0; i < kLikelyDraws; ++i) genotypes.push_back(draws.draw(random));
    return candidates_->of(genotypes);
  }

  /// If a program counts costs, leaves of the candidates from `begin` on those that the model likes best, as
  /// far as their costs can be estimated, and that meet the constraints by their counted ones.
  static void count_best(const Context& context, std::size_t begin, std::vector<CandidatePointer>& drawn) {
    if (context.costs == nullptr) return;
    const std::vector<CandidatePointer> added(drawn.begin() + static_cast<std::ptrdiff_t>(begin),
                                              drawn.end());
    drawn.resize(begin);
    const std::vector<std::size_t> order = order_of(context, context.costs->estimated(added));
    for (std::size_t next = 0; next < std::min(order.size(), kMostLiked) && drawn.size() == begin;) {
      std::vector<CandidatePointer> liked;
      while (next < order.size() && liked.size() < CostCounter::kMostAsked)
        liked.push_back(added[order[next++]]);
      for (CandidatePointer& counted : with_costs(context.pool, liked)) {
        if (context.pool.objectives().feasible(*counted->architecture)) drawn.push_back(std::move(counted));
      }
    }
  }

  /// Returns the places of candidates, the best first, those that break a constraint last.
  static std::vector<std::size_t> order_of(const Context& context,
                                           const std::vector<CandidatePointer>& estimated) {
    Eigen::ArrayXd values;
    for (const Acquisition kind : {turn(context), Acquisition::kImprovement, Acquisition::kFallback}) {
      values = context.model.acquisition(estimated, kind);
      if (values.size() == 0 || values.maxCoeff() > 0) break;
    }
    std::vector<std::size_t> order(estimated.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater<>(),
                             [&](std::size_t i) { return values[static_cast<Eigen::Index>(i)]; });
    std::ranges::stable_partition(order, [&](std::size_t i) {
      return context.pool.objectives().feasible(*estimated[i]->architecture);
    });
    return order;
  }

  std::optional<CandidateSet> candidates_;
};

/// Bayesian optimisation. The first trials are far from each other.
class SkylineSearch final : public ModelSearcher {
 public:
  SkylineSearch(const SkylineOptions& options, const SearchProblem& problem)
      : ModelSearcher({.name = "skyline",
                       .trials = options.trials,
                       .batch = options.batch,
                       .first = best_known(problem).size() < kFirstTrials ? kFirstTrials : kFirstWithKnown,
                       .budgets = options.budgets},
                      problem, std::make_unique<ImprovementStrategy>()) {}
};

/// The default is not written, so that older runs are the same runs.
OptionKind<std::optional<std::vector<double>>> budgets_kind() {
  auto kind = or_keyword("none", list_of(number(above(0)), "a list of epochs"));
  kind.write = [write = kind.write](const std::optional<std::vector<double>>& budgets) {
    return budgets ? write(budgets) : ConfigNode();
  };
  return kind;
}

}  // namespace

Algorithm skyline_search() {
  using Options = SkylineOptions;
  const Range counted = at_least(1).at_most(kMostCounted);
  const OptionTable<Options> options{
      {"trials", &Options::trials, counted,
       "Maximum number of trials of the search; one that is continued counts again.", KeyRule::kMayChange},
      {"batch", &Options::batch, counted,
       "Number of trials that are chosen at once, from the same results: the model then costs less for "
       "each."},
      {"budgets", &Options::budgets, budgets_kind(),
       "Epochs with which trials begin, and with which they go on if they promise much. The last are those "
       "of a whole trial. All trials are whole unless given, or with `none`."}};
  Algorithm algorithm =
      make_algorithm<SkylineSearch>("skyline", "A model of the results chooses the trials.", options);
  algorithm.window = 8;
  algorithm.check = RungOptions::check;
  algorithm.uses_known = true;
  algorithm.can_repeat = true;
  algorithm.aims_at_volumes = true;
  return algorithm;
}

}  // namespace skyline::search
