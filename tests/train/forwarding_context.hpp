#pragma once

#include "skyline/trial/evaluator.hpp"

namespace skyline::train {

/// Base of contexts that change a part of another context: passes everything on to it.
class ForwardingContext : public trial::EvaluationContext {
 public:
  /// @param next  outlives the object
  explicit ForwardingContext(trial::EvaluationContext& next) : next_(next) {}

  trial::TrialControl& control() override { return next_.control(); }
  trial::TrialState& state() override { return next_.state(); }
  trial::TrialWeights& weights() override { return next_.weights(); }
  trial::TrialGroup* group() override { return next_.group(); }
  trial::TrialTiming& timing() override { return next_.timing(); }

 private:
  trial::EvaluationContext& next_;
};

}  // namespace skyline::train
