#pragma once

#include "skyline/search/searcher.hpp"

#include "run/run_state.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace skyline::engine {

/// Asks once for each member of the front that has not been trained with this budget: the full training after
/// the search, through the same loop.
class FrontTraining final : public search::Searcher {
 public:
  /// @param state  of a run whose search is over; read here alone
  FrontTraining(const run::RunState& state, const trial::Budget& budget);
  std::vector<trial::Proposal> ask(std::size_t room) override;
  void tell(const trial::CommittedTrial&) override {}
  bool finished() const override { return asked_ == proposals_.size(); }
  std::string finish_reason() const override { return "the front is trained"; }
  std::size_t expected_trials() const override { return proposals_.size(); }

 private:
  std::vector<trial::Proposal> proposals_;
  std::size_t asked_ = 0;
};

}  // namespace skyline::engine
