#include "app/job/answers_removal.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "evaluate/command/early_answers.hpp"

#include <utility>

namespace skyline::app {

void AnswersRemoval::committed(const run::Commit& commit, const run::RunState& state) {
  if (commit.trial->trial.is_final()) {
    unneeded_.push_back(commit.trial->trial.name());
  } else if (!keeps_search_) {
    for (const trial::TrialNumber number : state.left_behind()) unneeded_.push_back({number});
  }
  if (commit.replayed || unneeded_.empty()) return;
  storage_.post([run = run_, warned = warned_, trials = std::exchange(unneeded_, {})] {
    for (const trial::TrialName trial : trials) {
      try {
        evaluate::remove_early_answers(run, trial);
      } catch (const Problem& problem) {
        if (!std::exchange(*warned, true)) log::warning(problem.what());
      }
    }
  });
}

}  // namespace skyline::app
