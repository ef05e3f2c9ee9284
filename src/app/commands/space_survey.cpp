#include "app/commands/space_survey.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include "core/text/wording.hpp"
#include "report/text/text_table.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

namespace skyline::app {
namespace {

constexpr double kLongest_s = 0.8;
constexpr std::size_t kMostRandom = 10'000;
constexpr std::int64_t kTimed = 50;  // genotypes that tell how long the others will take
constexpr std::size_t kMostReasons = 5;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Without the weights, so that shares are those of the whole space.
space::Genotype draw(const space::SearchSpace& space, RandomStream& random) {
  space::Genotype genotype;
  for (const space::Parameter& parameter : space.parameters()) {
    genotype.choices.push_back(static_cast<std::uint32_t>(random.below(parameter.values.size())));
  }
  return genotype;
}

/// "a.yaml:12: space.network[3]" of a message that begins so.
std::string place_of(const std::string& message) {
  const std::size_t first = message.find(": ");
  const std::size_t second = first == std::string::npos ? first : message.find(": ", first + 2);
  return message.substr(0, second);
}

void add_valid(SpaceSurvey& survey, const space::Architecture& architecture) {
  survey.architectures.insert(architecture.id);
  for (const std::string& metric : objective::computed_metric_names()) {
    const double value = objective::computed_metric(architecture.network, metric);
    const auto [range, first] = survey.costs.try_emplace(metric, SpaceSurvey::CostRange{value, value});
    range->second.least = std::min(range->second.least, value);
    range->second.most = std::max(range->second.most, value);
  }
  ++survey.valid;
}

void add(SpaceSurvey& survey, const space::SearchSpace& space, const objective::ObjectiveSet& objectives,
         const space::Genotype& genotype) {
  ++survey.seen;
  try {
    const space::Architecture architecture = space.build(genotype);
    bool valid = true;
    for (const objective::Constraint& constraint : objectives.constraints()) {
      if (!constraint.computed) continue;
      const double value = objective::computed_metric(architecture.network, constraint.metric);
      if (value >= constraint.low && value <= constraint.high) continue;
      ++survey.broken[to_text(constraint)];
      valid = false;
    }
    if (valid) add_valid(survey, architecture);
  } catch (const UserError& problem) {  // a network that cannot be built is no error of the user
    SpaceSurvey::Unbuildable& same = survey.unbuildable[place_of(problem.what())];
    if (same.count++ == 0) same.example = problem.what();
  }
}

std::string share_text(std::size_t part, std::size_t whole) {
  if (part == 0 || part == whole) return std::to_string(part);
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  return std::to_string(part) + " (" + report::significant_text(percent, 2) + " %)";
}

std::string size_text(const SpaceSurvey& survey) {
  if (survey.genotypes < 1'000'000'000'000'000) return std::to_string(survey.genotypes) + " genotypes";
  return "about 10^" + std::to_string(std::llround(survey.log10_genotypes)) + " genotypes";
}

}  // namespace

SpaceSurvey survey(const space::SearchSpace& space, const objective::ObjectiveSet& objectives) {
  SpaceSurvey survey;
  survey.genotypes = space.genotype_count();
  for (const space::Parameter& parameter : space.parameters()) {
    survey.log10_genotypes += std::log10(static_cast<double>(parameter.values.size()));
  }
  const Clock::time_point start = Clock::now();
  RandomStream random(derive_seed(0, "app.space_survey"));
  const auto add_random = [&] { add(survey, space, objectives, draw(space, random)); };
  if (survey.genotypes > kTimed) {
    for (std::int64_t i = 0; i < kTimed && seconds_since(start) < kLongest_s; ++i) add_random();
    const double each_s = seconds_since(start) / static_cast<double>(survey.seen);
    survey.all = each_s * static_cast<double>(survey.genotypes) < kLongest_s;
  } else {
    survey.all = true;
  }
  if (survey.all) {
    SpaceSurvey whole;
    whole.genotypes = survey.genotypes;
    whole.log10_genotypes = survey.log10_genotypes;
    whole.all = true;
    for (std::int64_t i = 0; i < whole.genotypes; ++i) add(whole, space, objectives, space.genotype_at(i));
    return whole;
  }
  while (survey.seen < kMostRandom && seconds_since(start) < kLongest_s) add_random();
  return survey;
}

std::string to_text(const SpaceSurvey& survey) {
  const std::string front = "# space: ";
  const std::string seen = std::to_string(survey.seen);
  std::string text = front + size_text(survey);
  if (survey.all) {
    text += ", " + share_text(survey.valid, survey.seen) + " valid, " +
            counted(survey.architectures.size(), "different architecture") + "\n";
  } else {
    text += ", too many to count; an estimate: of " + seen + " random ones " +
            share_text(survey.valid, survey.seen) + " are valid\n";
  }
  for (const auto& [constraint, count] : survey.broken) {
    text += front + share_text(count, survey.seen) + " break the constraint `" + constraint + "`\n";
  }
  std::vector<SpaceSurvey::Unbuildable> reasons;
  for (const auto& [place, reason] : survey.unbuildable) reasons.push_back(reason);
  std::ranges::sort(reasons, std::greater(), &SpaceSurvey::Unbuildable::count);
  for (std::size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i) {
    text += front + share_text(reasons[i].count, survey.seen) + " cannot be built, e.g. " +
            reasons[i].example + "\n";
  }
  std::vector<std::string> costs;
  for (const auto& [metric, range] : survey.costs) {
    costs.push_back(metric + " " + report::si_text(range.least) + " to " + report::si_text(range.most));
  }
  if (!costs.empty()) text += front + (survey.all ? "" : "found: ") + joined(costs) + "\n";
  return text;
}

}  // namespace skyline::app
