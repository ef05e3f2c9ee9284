#include "search/model/trial_model.hpp"

#include "skyline/core/random.hpp"

#include "search/search_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::search {
namespace {

using trial::CommittedTrial;

constexpr std::size_t kMost = 40;

/// Random results of a space of 4^6 networks, in the order in which they are told. Every seventh failed.
class TrialModelOfMany : public ::testing::Test {
 protected:
  TrialModelOfMany() {
    RandomStream random(1);
    std::vector<Sampled> sample;
    for (int i = 0; i < 100; ++i) {
      const space::Architecture built = space_.build(space_.sample(random));
      sample.push_back(
          {std::make_shared<const space::Architecture>(built.unbuilt()), space::features(built)});
    }
    embedding_.emplace(space_, sample);
    for (const Sampled& one : sample) {
      CommittedTrial result;
      result.trial.number = results_.size();
      result.trial.proposal.architecture = one.architecture;
      if (results_.size() % 7 == 6) {
        result.outcome = trial::Failure{trial::FailureKind::kException, "failed"};
      } else {
        result.outcome = trial::Measurements{{random.uniform(), 0}};
      }
      results_.push_back(std::move(result));
      candidates_.push_back(make_candidate(*embedding_, *one.architecture, one.features));
    }
  }

  TrialModel model(std::size_t most) const { return TrialModel(objectives_, *embedding_, most); }
  void tell(TrialModel& model, std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i) model.tell(results_[i], candidates_[i]);
  }
  Eigen::ArrayXd acquisition(TrialModel& model) const {
    return model.acquisition(candidates_, TrialModel::Acquisition::kImprovement);
  }

  space::SearchSpace space_ = testing::kernels_space();
  objective::ObjectiveSet objectives_ =
      testing::objective_set("[{maximize: accuracy, reference: 0, ideal: 1}, {minimize: flops}]");
  std::optional<Embedding> embedding_;
  std::vector<CommittedTrial> results_;
  std::vector<CandidatePointer> candidates_;
};

TEST_F(TrialModelOfMany, ForgetsAQuarterWhenThereAreTooManyResults) {
  TrialModel model = this->model(kMost);
  tell(model, 0, kMost - 1);
  EXPECT_EQ(model.results(), kMost - 1);
  tell(model, kMost - 1, kMost);
  EXPECT_EQ(model.results(), kMost - kMost / 4);
  for (std::size_t i = kMost; i < results_.size(); ++i) {
    tell(model, i, i + 1);
    EXPECT_LT(model.results(), kMost);
    EXPECT_LT(model.successes(), model.results()) << "some of the newest failed";
  }
}

TEST_F(TrialModelOfMany, AFantasyThatIsAddedIsThatOfATrialUnderWay) {
  for (const std::size_t known : {std::size_t{0}, std::size_t{5}}) {
    TrialModel added = model(TrialModel::kMostResults);
    TrialModel fitted = model(TrialModel::kMostResults);
    fitted.use_threads(3);
    for (TrialModel* const model : {&added, &fitted}) {
      const auto its = [&](const auto& all) {
        return std::vector(all.begin() + 49, all.begin() + 49 + static_cast<std::ptrdiff_t>(known));
      };
      model->warm_start(its(results_), its(candidates_));
      tell(*model, 0, 30);
    }
    added.fit({candidates_[30]});
    added.add_fantasy(candidates_[31]);
    added.add_fantasy(candidates_[32]);
    fitted.fit({candidates_[30], candidates_[31], candidates_[32]});
    EXPECT_TRUE((acquisition(added) == acquisition(fitted)).all());
    EXPECT_EQ(added.best(10), fitted.best(10));
    EXPECT_EQ(added.expected(candidates_[40]), fitted.expected(candidates_[40]));
  }
}

TEST_F(TrialModelOfMany, AnImprovementOfValuesCountsFromTheReferenceOn) {
  const auto acquisition_with = [&](const std::string& accuracy, TrialModel::Acquisition kind) {
    const objective::ObjectiveSet objectives =
        testing::objective_set("[{maximize: accuracy, " + accuracy + "}, {minimize: flops}]");
    TrialModel model(objectives, *embedding_);
    tell(model, 0, results_.size());
    model.fit({});
    return Eigen::ArrayXd(model.acquisition(candidates_, kind));
  };
  const Eigen::ArrayXd of_targets =
      acquisition_with("reference: 0, ideal: 1", TrialModel::Acquisition::kImprovement);
  EXPECT_TRUE(
      (of_targets == acquisition_with("reference: 0.9, ideal: 1", TrialModel::Acquisition::kImprovement))
          .all());
  // In units of accuracy, of which the second one has a tenth between the ends.
  const Eigen::ArrayXd all =
      acquisition_with("reference: 0, ideal: 1", TrialModel::Acquisition::kHypervolume);
  const Eigen::ArrayXd best =
      acquisition_with("reference: 0.9, ideal: 1", TrialModel::Acquisition::kHypervolume) / 10;
  EXPECT_TRUE((best < all).all());
  EXPECT_GT(best.minCoeff(), 0);
  const Eigen::ArrayXd beyond =
      acquisition_with("reference: 2, ideal: 3", TrialModel::Acquisition::kHypervolume);
  EXPECT_TRUE((beyond == of_targets).all()) << "where nothing is better than the reference";
}

TEST_F(TrialModelOfMany, LearnsWhatWasAskedOfTrialsThatWereNotTrained) {
  std::vector<double> flops;
  for (const CandidatePointer& one : candidates_)
    flops.push_back(static_cast<double>(one->architecture->cost.flops));
  std::ranges::nth_element(flops, flops.begin() + 50);
  const double bound = flops[50];
  const objective::ObjectiveSet objectives =
      testing::objective_set("[{maximize: accuracy}]", "[{latency: [0, " + std::to_string(bound) + "]}]");
  TrialModel model(objectives, *embedding_);
  std::size_t trained = 0;
  const auto is_within = [&](std::size_t i) {
    return static_cast<double>(candidates_[i]->architecture->cost.flops) <= bound;
  };
  constexpr std::size_t kTold = 70;
  for (std::size_t i = 0; i < kTold; ++i) {
    CommittedTrial result = results_[i];
    const auto latency = static_cast<double>(candidates_[i]->architecture->cost.flops);
    trial::Measurements measured{{std::nan(""), latency}};
    if (is_within(i)) {
      measured.values[0] = std::get_if<trial::Measurements>(&results_[i].outcome) != nullptr
                               ? std::get<trial::Measurements>(results_[i].outcome).values[0]
                               : 0.5;
      ++trained;
    } else {
      measured.extent = trial::Extent::kOutside;
    }
    result.outcome = measured;
    model.tell(result, candidates_[i]);
  }
  EXPECT_EQ(model.results(), kTold);
  EXPECT_EQ(model.successes(), trained) << "no failure, and no success";
  model.fit({});
  for (const CandidatePointer& best : model.best(kTold))
    EXPECT_LE(static_cast<double>(best->architecture->cost.flops), bound);
  const Eigen::ArrayXd values = acquisition(model);
  double within = 0;
  double beyond = 0;
  for (std::size_t i = kTold; i < candidates_.size(); ++i)
    (is_within(i) ? within : beyond) += values[static_cast<Eigen::Index>(i)];
  EXPECT_LT(beyond, 0.3 * within);
}

TEST_F(TrialModelOfMany, GoesOnTowardsABoundThatIsFarAwayAndToOneThatAllowsOneValue) {
  const auto acquisition_with = [&](const std::string& bounds, TrialModel::Acquisition kind) {
    const objective::ObjectiveSet objectives =
        testing::objective_set("[{minimize: flops}]", "[{accuracy: " + bounds + "}]");
    TrialModel model(objectives, *embedding_);
    tell(model, 0, results_.size());
    model.fit({});
    return Eigen::ArrayXd(model.acquisition(candidates_, kind));
  };
  EXPECT_GT(acquisition_with("[0.5, 0.5]", TrialModel::Acquisition::kImprovement).maxCoeff(), 0);
  EXPECT_GT(acquisition_with("[3.5, 20]", TrialModel::Acquisition::kImprovement).maxCoeff(), 0)
      << "10 deviations away";
  EXPECT_EQ(acquisition_with("[1e6, 2e6]", TrialModel::Acquisition::kImprovement).maxCoeff(), 0);
  const Eigen::ArrayXd near = acquisition_with("[1e6, 2e6]", TrialModel::Acquisition::kFallback);
  EXPECT_LT(near.maxCoeff(), 0);
  EXPECT_GT(near.maxCoeff(), near.minCoeff());
  EXPECT_GT(acquisition_with("[-1e6, 2e6]", TrialModel::Acquisition::kFallback).minCoeff(), -1);
}

TEST_F(TrialModelOfMany, RanksFailuresLastAndNothingBesideKnownResults) {
  TrialModel model = this->model(TrialModel::kMostResults);
  tell(model, 0, 20);
  const std::vector<CandidatePointer> ranked = model.ranked_trials();
  ASSERT_EQ(ranked.size(), 20U);
  const auto accuracy_of = [&](const CandidatePointer& candidate) {
    const auto place =
        static_cast<std::size_t>(std::ranges::find(candidates_, candidate) - candidates_.begin());
    return std::get<trial::Measurements>(results_[place].outcome).values[0];
  };
  for (std::size_t i = 1; i < 18; ++i) EXPECT_GE(accuracy_of(ranked[i - 1]), accuracy_of(ranked[i]));
  EXPECT_EQ(ranked[18], candidates_[6]);
  EXPECT_EQ(ranked[19], candidates_[13]);
  TrialModel with_known = this->model(TrialModel::kMostResults);
  with_known.warm_start({results_.begin() + 21, results_.begin() + 26},
                        {candidates_.begin() + 21, candidates_.begin() + 26});
  tell(with_known, 0, 20);
  EXPECT_TRUE(with_known.ranked_trials().empty());
}

TEST_F(TrialModelOfMany, ForgetsNothingOfTheFront) {
  TrialModel few = model(kMost);
  TrialModel all = model(results_.size() + 1);
  tell(few, 0, results_.size());
  tell(all, 0, results_.size());
  for (const CandidatePointer& candidate : candidates_) {
    EXPECT_EQ(few.nearest_on_front(*candidate), all.nearest_on_front(*candidate));
  }
}

TEST_F(TrialModelOfMany, KeepsWhatTheBestHadAfterAPartOfTheBudget) {
  constexpr std::size_t kWholeBudgets = 4;  // the last results, of the architectures of the first ones
  constexpr std::size_t kShort = kMost - kWholeBudgets;
  constexpr std::size_t kKept = kMost - kMost / 4;
  const auto tell_all = [&](TrialModel& model, std::size_t forgotten) {
    for (std::size_t i = 0; i < kShort; ++i) {
      if (i < kWholeBudgets || i >= kWholeBudgets + forgotten)
        model.tell(results_[i], with_budget(*candidates_[i], -1));
    }
    tell(model, 0, kWholeBudgets);
    model.fit({});
  };
  TrialModel model = this->model(kMost);
  TrialModel of_the_kept = this->model(kMost);
  tell_all(model, 0);
  tell_all(of_the_kept, kMost - kKept);
  EXPECT_EQ(model.results(), kKept);
  EXPECT_EQ(of_the_kept.results(), kKept);
  EXPECT_TRUE((acquisition(model) == acquisition(of_the_kept)).all());
}

TEST_F(TrialModelOfMany, ForgetsFailuresBeforeSuccessesThatBreakAConstraint) {
  const objective::ObjectiveSet objectives =
      testing::objective_set("[{maximize: accuracy}]", "[{latency: [1, 2]}]");
  TrialModel model(objectives, *embedding_, kMost);
  for (std::size_t i = 0; i < kMost; ++i) {
    CommittedTrial result = results_[i];
    result.outcome = trial::Failure{trial::FailureKind::kException, "failed"};
    if (i < 3) result.outcome = trial::Measurements{{0.5, 7}};
    model.tell(result, candidates_[i]);
  }
  EXPECT_EQ(model.results(), kMost - kMost / 4);
  EXPECT_EQ(model.successes(), 3U);
}

TEST_F(TrialModelOfMany, FindsTheCostliestWorthATrial) {
  const auto flops = [](const CandidatePointer& candidate) { return candidate->architecture->cost.flops; };
  const auto costliest = std::ranges::max_element(candidates_, {}, flops);
  const auto place = static_cast<std::size_t>(costliest - candidates_.begin());
  const std::string ends = ", ideal: 1, reference: " + std::to_string(flops(*costliest));
  for (const std::string& stated : {std::string(), ends, ends + ", scale: linear"}) {
    const auto objectives = testing::objective_set("[{maximize: accuracy}, {minimize: flops" + stated + "}]");
    TrialModel model(objectives, *embedding_, kMost);
    tell(model, 0, std::min(place, kMost - 1));
    model.fit({});
    EXPECT_GT(acquisition(model)[static_cast<Eigen::Index>(place)], 0) << stated;
  }
}

TEST_F(TrialModelOfMany, SaysTheSameWhenASearchIsResumed) {
  TrialModel stepwise = model(kMost);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    tell(stepwise, i, i + 1);
    if (i == 0) continue;
    stepwise.fit({candidates_[(i + 1) % candidates_.size()]});
    (void)acquisition(stepwise);
    stepwise.add_fantasy(candidates_[(i + 2) % candidates_.size()]);
  }
  TrialModel resumed = model(kMost);
  tell(resumed, 0, results_.size());
  for (TrialModel* const each : {&stepwise, &resumed}) each->fit({});
  EXPECT_TRUE((acquisition(stepwise) == acquisition(resumed)).all());
  EXPECT_GT(acquisition(resumed).maxCoeff(), 0);
}

TEST_F(TrialModelOfMany, KnowsNothingOfFailuresThatItForgot) {
  const auto result_of = [&](std::size_t i) {
    CommittedTrial result = results_[i];
    if (i == 1 || i + 1 == results_.size()) {
      result.outcome = trial::Failure{trial::FailureKind::kException, "failed"};
    } else if (std::holds_alternative<trial::Failure>(result.outcome)) {
      result.outcome = trial::Measurements{{0.1, 7}};
    }
    return result;
  };
  TrialModel stepwise = model(kMost);
  TrialModel resumed = model(kMost);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    stepwise.tell(result_of(i), candidates_[i]);
    stepwise.fit({});
    (void)acquisition(stepwise);
    resumed.tell(result_of(i), candidates_[i]);
  }
  resumed.fit({});
  EXPECT_EQ(resumed.successes() + 1, resumed.results()) << "the first failure is forgotten";
  EXPECT_TRUE((acquisition(stepwise) == acquisition(resumed)).all());
}

}  // namespace
}  // namespace skyline::search
