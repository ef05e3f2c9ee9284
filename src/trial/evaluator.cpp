#include "skyline/trial/evaluator.hpp"

#include "core/backoff.hpp"

namespace skyline::trial {

TrialWait::TrialWait(EvaluationContext& context, double TrialTiming::*part)
    : context_(context),
      part_(part),
      waited_s_(context.timing().waited_s()),
      start_(std::chrono::steady_clock::now()) {
  context_.control().hold_time();
}

TrialWait::~TrialWait() {
  context_.control().resume_time();
  TrialTiming& timing = context_.timing();
  timing.*part_ += seconds_since(start_) - (timing.waited_s() - waited_s_);
}

bool Evaluator::tries_again(const Failure& failure, std::uint32_t tried) const {
  const bool is_transient =
      failure.kind == FailureKind::kException || failure.kind == FailureKind::kOutOfMemory;
  return is_transient && tried == 0;
}

}  // namespace skyline::trial
