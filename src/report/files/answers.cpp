#include "report/files/answers.hpp"

#include "skyline/core/config_node.hpp"
#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "report/files/trial_results.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace skyline::report {
namespace {

constexpr std::size_t kMostAnswers = 60;               // trainings
constexpr std::uintmax_t kMostAnswerBytes = 1 << 20;   // ours have at most a tenth
constexpr double kTail = 0.025;                        // outside of an interval at each side
constexpr double kNormalQuantile = 1.959963984540054;  // the 97.5 % quantile

/// Returns the replicates of a result, and by how much it differs from the training that they are of: with
/// repeats it is a mean. Returns nullptr if there are none.
std::pair<const std::vector<double>*, double> replicates_for(const ReportInputs& inputs,
                                                             const trial::CommittedTrial& result,
                                                             const std::string& metric) {
  const auto member = inputs.replicates.find(result.trial.number);
  const run::SharedTrial first = inputs.state.final_training(result.trial.number);
  if (member == inputs.replicates.end() || !result.trial.is_final() || first == nullptr) return {};
  const auto values = member->second.values.find(metric);
  const auto mean = metric_value(result, metric, inputs.metrics);
  const auto own = metric_value(*first, metric, inputs.metrics);
  if (values == member->second.values.end() || !mean || !own) return {};
  return {&values->second, *mean - *own};
}

/// Returns the interval that holds all but the tails of some values.
Interval interval_of(std::vector<double> values, double shift) {
  std::ranges::sort(values);
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - std::floor(place)) * (values[above] - values[below]) + shift;
  };
  return {at(kTail), at(1 - kTail)};
}

}  // namespace

std::map<trial::TrialNumber, std::string> read_answers(const store::RunPaths& paths,
                                                       const run::RunState& state) {
  std::map<trial::TrialNumber, std::string> answers;
  for (const trial::TrialNumber number : front_order(state.final_front())) {
    if (answers.size() == kMostAnswers) break;
    const auto path = paths.answers({number, true});
    std::error_code failure;
    const std::uintmax_t bytes = std::filesystem::file_size(path, failure);
    if (failure || bytes > kMostAnswerBytes) continue;
    try {
      answers[number] = store::read_run_file(path);
    } catch (const UserError&) {
      continue;
    }
  }
  return answers;
}

std::map<trial::TrialNumber, Replicates> replicates_in(
    const std::map<trial::TrialNumber, std::string>& answers) {
  using Json = nlohmann::json;
  std::map<trial::TrialNumber, Replicates> found;
  for (const auto& [number, text] : answers) {
    const Json json = Json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("replicates")) continue;
    try {
      Replicates replicates{json.at("samples").get<std::uint64_t>(),
                            json.at("replicates").get<std::map<std::string, std::vector<double>>>()};
      std::erase_if(replicates.values, [](const auto& metric) { return metric.second.empty(); });
      found[number] = std::move(replicates);
    } catch (const Json::exception&) {
      // The file is damaged, and the results do without it.
    }
  }
  return found;
}

std::optional<SampleBound> sample_bound(const ReportInputs& inputs, const trial::CommittedTrial& result,
                                        const std::string& metric) {
  const auto value = metric_value(result, metric, inputs.metrics);
  if (!value) return std::nullopt;
  const trial::Baseline* baseline = trial::find_baseline(inputs.baselines, metric);
  const auto samples = baseline != nullptr ? samples_of(*baseline, result.trial.is_final()) : std::nullopt;
  if (samples) return SampleBound{*samples, wilson_interval(*value, *samples)};
  const auto [replicates, shift] = replicates_for(inputs, result, metric);
  if (replicates == nullptr) return std::nullopt;
  return SampleBound{inputs.replicates.at(result.trial.number).samples, interval_of(*replicates, shift)};
}

bool are_apart(const ReportInputs& inputs, const trial::CommittedTrial& left,
               const trial::CommittedTrial& right, const std::string& metric) {
  const auto [of_left, left_shift] = replicates_for(inputs, left, metric);
  const auto [of_right, right_shift] = replicates_for(inputs, right, metric);
  if (of_left == nullptr || of_right == nullptr || of_left->size() != of_right->size()) {
    const auto value = [&](const auto& of) { return metric_value(of, metric, inputs.metrics).value(); };
    return are_shares_apart(value(left), value(right), sample_bound(inputs, left, metric).value().samples);
  }
  std::vector<double> differences;
  for (std::size_t i = 0; i < of_left->size(); ++i) differences.push_back((*of_left)[i] - (*of_right)[i]);
  const Interval interval = interval_of(std::move(differences), left_shift - right_shift);
  return interval.low > 0 || interval.high < 0;
}

Interval wilson_interval(double share, std::uint64_t samples) {
  const auto count = static_cast<double>(samples);
  const double square = kNormalQuantile * kNormalQuantile;
  const double centre = share + square / (2 * count);
  const double margin =
      kNormalQuantile * std::sqrt(share * (1 - share) / count + square / (4 * count * count));
  const double scale = 1 + square / count;
  return {std::max(0.0, (centre - margin) / scale), std::min(1.0, (centre + margin) / scale)};
}

bool are_shares_apart(double left, double right, std::uint64_t samples) {
  const double common = (left + right) / 2;
  const double deviation = std::sqrt(2 * common * (1 - common) / static_cast<double>(samples));
  return std::abs(left - right) > kNormalQuantile * deviation;
}

void write_latencies(const store::RunPaths& paths, const std::vector<FrontLatency>& latencies) {
  std::vector<ConfigNode> list;
  for (const FrontLatency& each : latencies) {
    std::vector<ConfigNode> rounds;
    for (const double round_ms : each.rounds_ms) rounds.push_back(ConfigNode::make_number(round_ms));
    list.push_back(
        ConfigNode::make_map({{"trial", ConfigNode::make_integer(static_cast<std::int64_t>(each.trial)), {}},
                              {"latency_ms", ConfigNode::make_number(each.least_ms()), {}},
                              {"rounds_ms", ConfigNode::make_list(std::move(rounds), {}), {}}},
                             {}));
  }
  store::publish_file(paths.latency_json(), to_json(ConfigNode::make_list(std::move(list), {})));
}

std::vector<FrontLatency> read_latencies(const store::RunPaths& paths) {
  std::vector<FrontLatency> latencies;
  if (!store::exists(paths.latency_json())) return latencies;
  try {
    const ConfigNode list = store::load_run_yaml(paths.latency_json());
    for (const ConfigNode& each : list.items()) {
      FrontLatency latency{static_cast<trial::TrialNumber>(each.at("trial").as_integer()), {}};
      for (const ConfigNode& round : each.at("rounds_ms").items()) {
        latency.rounds_ms.push_back(round.as_number());
      }
      if (!latency.rounds_ms.empty()) latencies.push_back(std::move(latency));
    }
  } catch (const UserError&) {
    return {};
  }
  return latencies;
}

}  // namespace skyline::report
