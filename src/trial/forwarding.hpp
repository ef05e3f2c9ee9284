#pragma once

#include "skyline/trial/evaluator.hpp"

#include <memory>
#include <utility>

/// Bases of classes that stand before another object of their interface and change a part of it: all that
/// they do not override is passed on. Such a class may call the base's function for what it does not change.
namespace skyline::trial {

class ForwardingEvaluator : public Evaluator {
 public:
  explicit ForwardingEvaluator(std::unique_ptr<Evaluator> next) : next_(std::move(next)) {}

  double predicted_cost(const Trial& trial) const override { return next_->predicted_cost(trial); }
  std::uint32_t members_for(const Trial& trial) const override { return next_->members_for(trial); }
  bool forms_groups() const override { return next_->forms_groups(); }
  std::size_t slots() const override { return next_->slots(); }
  Place place(Place rank) const override { return next_->place(std::move(rank)); }
  std::string device() const override { return next_->device(); }
  Outcome evaluate(const Trial& trial, EvaluationContext& context) override {
    return next_->evaluate(trial, context);
  }
  std::vector<double> latencies_ms(std::span<const Trial> trials) override {
    return next_->latencies_ms(trials);
  }
  std::exception_ptr fault() override { return next_->fault(); }
  bool tries_again(const Failure& failure, std::uint32_t tried) const override {
    return next_->tries_again(failure, tried);
  }

 private:
  const std::unique_ptr<Evaluator> next_;
};

class ForwardingContext : public EvaluationContext {
 public:
  /// @param next  must outlive the object
  explicit ForwardingContext(EvaluationContext& next) : next_(next) {}

  TrialControl& control() override { return next_.control(); }
  TrialState& state() override { return next_.state(); }
  TrialWeights& weights() override { return next_.weights(); }
  const TrialFolder* folder() override { return next_.folder(); }
  EarlyValues& early_values() override { return next_.early_values(); }
  TrialPruning* pruning() override { return next_.pruning(); }
  TrialGroup* group() override { return next_.group(); }
  Place place() const override { return next_.place(); }
  std::string last_failure() const override { return next_.last_failure(); }
  TrialTiming& timing() override { return next_.timing(); }
  void report(CurvePoint point) override { next_.report(std::move(point)); }

 private:
  EvaluationContext& next_;
};

class ForwardingWeights : public TrialWeights {
 public:
  /// @param next  must outlive the object
  explicit ForwardingWeights(TrialWeights& next) : next_(next) {}

  std::shared_ptr<const Tensors> inherited() override { return next_.inherited(); }
  bool wanted() const override { return next_.wanted(); }
  void keep(Tensors weights) override { next_.keep(std::move(weights)); }
  void keep_answers(std::string json) override { next_.keep_answers(std::move(json)); }

 private:
  TrialWeights& next_;
};

}  // namespace skyline::trial
