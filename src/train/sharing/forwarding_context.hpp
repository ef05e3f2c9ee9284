#pragma once

#include "skyline/trial/evaluator.hpp"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace skyline::train {

/// A context that passes everything on to another one, for those that change a part of it.
class ForwardingContext : public trial::EvaluationContext {
 public:
  /// @param next  outlives the object
  explicit ForwardingContext(trial::EvaluationContext& next) : next_(next) {}

  bool stop_requested() const override { return next_.stop_requested(); }
  const trial::TrainingState* saved_state() const override { return next_.saved_state(); }
  bool save_due(double epochs_done) override { return next_.save_due(epochs_done); }
  void save(const std::function<void(trial::TrainingState&)>& fill) override { next_.save(fill); }
  std::shared_ptr<const std::vector<trial::NamedTensor>> inherited_weights() const override {
    return next_.inherited_weights();
  }
  trial::TrialGroup* group() override { return next_.group(); }
  void progress(double fraction) override { next_.progress(fraction); }
  bool wants_weights() const override { return next_.wants_weights(); }
  void keep_weights(std::vector<trial::NamedTensor> weights) override {
    next_.keep_weights(std::move(weights));
  }
  trial::TrialTiming& timing() override { return next_.timing(); }

 protected:
  trial::EvaluationContext& next() const { return next_; }

 private:
  trial::EvaluationContext& next_;
};

}  // namespace skyline::train
