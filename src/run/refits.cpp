#include "run/refits.hpp"

#include "trial/refit.hpp"

namespace skyline::run {

SharedTrial refit_of(const RunState& state, trial::TrialNumber number) {
  for (const SharedTrial& training : state.full_trainings(number)) {
    if (trial::is_refit(training->trial) && trial::full_budget(training->trial) == state.final_budget())
      return training;
  }
  return nullptr;
}

}  // namespace skyline::run
