#include "evaluate/command/trial_decisions.hpp"

#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace skyline::evaluate {

TrialDecisions::TrialDecisions(const trial::Trial& trial, trial::TrialPruning* pruning,
                               std::filesystem::path file, ReportReader& reports)
    : trial_(trial), pruning_(pruning), file_(std::move(file)), reports_(reports) {
  if (pruning_ == nullptr) return;
  std::vector<std::int64_t> steps;
  for (const trial::PruningBar& bar : trial.bars) steps.push_back(bar.step);
  reports_.declare(std::move(steps), pruning_->compared());
}

void TrialDecisions::write() const {
  if (pruning_ == nullptr) return;
  nlohmann::ordered_json at = nlohmann::ordered_json::array();
  for (const trial::PruningBar& bar : trial_.bars) at.push_back(bar.step);
  std::string text = nlohmann::ordered_json{{"at", at}, {"of", pruning_->compared()}}.dump() + "\n";
  for (const auto& [step, stop] : pruning_->decisions()) {
    text += nlohmann::ordered_json{{"step", step}, {"stop", stop}}.dump() + "\n";
  }
  store::extend_scratch_file(file_, text);
}

void TrialDecisions::decide() {
  if (pruning_ == nullptr) return;
  for (const trial::CurvePoint& point : reports_.take_declared()) {
    pruning_->decide(point);
    write();
  }
}

bool TrialDecisions::ended_trial() {
  if (pruning_ == nullptr) return false;
  const bool has_result = reports_.has_result();  // a last line without a line feed is read now
  decide();
  const auto decisions = pruning_->decisions();
  return !has_result && !reports_.mistake() && !decisions.empty() && decisions.back().stop;
}

std::string TrialDecisions::unreported() const {
  if (pruning_ == nullptr) return "";
  for (const trial::PruningBar& bar : trial_.bars) {
    const auto decisions = pruning_->decisions();
    if (std::ranges::find(decisions, bar.step, &trial::TrialPruning::Decision::step) != decisions.end())
      continue;
    std::vector<std::string> missing = reports_.missing_of(bar.step);
    if (missing.empty()) return "it reported no step " + std::to_string(bar.step);
    std::ranges::transform(missing, missing.begin(), in_quotes);
    return "step " + std::to_string(bar.step) + " has no " + joined(missing);
  }
  return "";
}

}  // namespace skyline::evaluate
