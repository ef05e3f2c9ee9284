#pragma once

#include "skyline/objective/evaluator.hpp"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace skyline::train {

/// A context that passes everything on to another one, for those that change a part of it.
class ForwardingContext : public objective::EvaluationContext {
 public:
  /// @param next  outlives the object
  explicit ForwardingContext(objective::EvaluationContext& next) : next_(next) {}

  bool stop_requested() const override { return next_.stop_requested(); }
  const objective::TrainingState* saved_state() const override { return next_.saved_state(); }
  bool save_due(double epochs_done) override { return next_.save_due(epochs_done); }
  void save(const std::function<void(objective::TrainingState&)>& fill) override { next_.save(fill); }
  std::shared_ptr<const std::vector<objective::NamedTensor>> inherited_weights() const override {
    return next_.inherited_weights();
  }
  objective::TrialGroup* group() override { return next_.group(); }
  void progress(double fraction) override { next_.progress(fraction); }
  bool wants_weights() const override { return next_.wants_weights(); }
  void keep_weights(std::vector<objective::NamedTensor> weights) override {
    next_.keep_weights(std::move(weights));
  }
  objective::TrialTiming& timing() override { return next_.timing(); }

 protected:
  objective::EvaluationContext& next() const { return next_; }

 private:
  objective::EvaluationContext& next_;
};

}  // namespace skyline::train
