#include "app/models/evaluation.hpp"

#include "app/config/evaluator_section.hpp"
#include "app/config/exported_network.hpp"
#include "comm/environment.hpp"
#include "core/text/foreign_text.hpp"
#include "report/text/text_table.hpp"
#include "train/loading/load_training.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <variant>

namespace skyline::app {
namespace {

using store::TargetKind;

/// Prints how many samples of each class a network is right about, the classes with the most errors first.
void print_classes(const store::Dataset& dataset, std::span<const float> outputs) {
  constexpr std::size_t kMostClasses = 30;
  const std::vector<std::string>& names = dataset.class_names();
  const store::SampleView& samples = dataset.test();
  if (samples.target_kind() != TargetKind::kClasses || names.size() > kMostClasses) return;
  std::vector<std::vector<std::size_t>> counts(names.size(), std::vector<std::size_t>(names.size()));
  for (std::size_t i = 0; i < samples.count; ++i) {
    const auto said = outputs.subspan(i * names.size(), names.size());
    ++counts[static_cast<std::size_t>(samples.classes()[i])]
            [static_cast<std::size_t>(std::ranges::max_element(said) - said.begin())];
  }
  struct Row {
    std::size_t index = 0;  // index of the class
    std::size_t all = 0;
    std::size_t wrong = 0;
    std::size_t other = 0;  // the class that is said most often in its place
  };
  std::vector<Row> rows;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<std::size_t> others = counts[i];
    others[i] = 0;
    const std::size_t wrong = std::accumulate(others.begin(), others.end(), std::size_t{0});
    if (wrong + counts[i][i] == 0) continue;
    rows.push_back({i, wrong + counts[i][i], wrong,
                    static_cast<std::size_t>(std::ranges::max_element(others) - others.begin())});
  }
  std::ranges::stable_sort(rows, std::ranges::greater(), &Row::wrong);
  report::TextTable table;
  table.add_column("class", report::TextTable::Align::kLeft);
  table.add_column("samples");
  table.add_column("right");
  table.add_column("recall");
  table.add_column("most often taken for", report::TextTable::Align::kLeft);
  for (const Row& row : rows) {
    const std::size_t right = row.all - row.wrong;
    std::array<char, 16> recall{};
    std::snprintf(recall.data(), recall.size(), "%.4f",
                  static_cast<double>(right) / static_cast<double>(row.all));
    table.add_row(
        {names[row.index], std::to_string(row.all), std::to_string(right), recall.data(),
         row.wrong == 0 ? "" : names[row.other] + " (" + std::to_string(counts[row.index][row.other]) + ")"});
  }
  std::cout << table.text();
}

/// Returns why samples define no metric, or an output is no number.
std::string reason_of_undefined(const store::Dataset& dataset, std::span<const float> outputs) {
  if (std::ranges::any_of(outputs, [](float output) { return !std::isfinite(output); }))
    return "an output of the network is not a finite number";
  const store::SampleView& samples = dataset.test();
  const std::size_t each = samples.target_kind() == TargetKind::kClasses ? 1 : dataset.class_names().size();
  const bool differ = std::visit(
      [&](const auto& targets) {
        return !std::equal(targets.begin() + std::ptrdiff_t(each), targets.end(), targets.begin());
      },
      samples.targets);
  if (differ) return "these samples do not define it";
  if (samples.target_kind() != TargetKind::kClasses) return "all samples have the same targets";
  return "all samples are of class " +
         in_quotes(dataset.class_names()[static_cast<std::size_t>(samples.classes()[0])]);
}

}  // namespace

train::InferenceResult outputs_of(const ModelSource& source, const SelectedModel& model,
                                  const std::shared_ptr<const store::Dataset>& samples,
                                  const space::Int8Network* int8) {
  const auto job = comm::make_local_environment();
  train::InferenceResult result =
      train::load_training().infer(*job, {.section = evaluator_of(source.run.config).section,
                                          .normalization = source.data.normalization,
                                          .architecture = model.trained->trial.proposal.architecture,
                                          .tensors = model.weights.tensors,
                                          .dataset = samples,
                                          .int8 = int8});
  const std::vector<store::TargetColumn> targets = scaled_targets(source.data);
  for (std::size_t i = 0; !targets.empty() && i < result.outputs.size(); ++i) {
    const auto output = static_cast<double>(result.outputs[i]);
    result.outputs[i] = static_cast<float>(targets[i % targets.size()].number(output));
  }
  return result;
}

std::vector<ConfigNode::Entry> print_evaluation(const store::Dataset& samples,
                                                const train::InferenceResult& result) {
  std::vector<ConfigNode::Entry> metrics;
  std::vector<ConfigNode::Entry> reasons;
  for (const auto& [name, value] : result.metrics) {
    const bool is_defined = std::isfinite(value);
    const std::string reason = is_defined ? "" : reason_of_undefined(samples, result.outputs);
    std::cout << name << " "
              << (is_defined ? report::metric_text({.name = name}, value) : "undefined: " + printable(reason))
              << "\n";
    metrics.push_back({name, is_defined ? ConfigNode::make_number(value) : ConfigNode(), {}});
    if (!is_defined) reasons.push_back({name, ConfigNode::make_scalar(reason, {}, true), {}});
  }
  print_classes(samples, result.outputs);
  std::vector<ConfigNode::Entry> entries;
  const auto count = static_cast<std::int64_t>(samples.test().count);
  entries.push_back({"samples", ConfigNode::make_integer(count), {}});
  entries.push_back({"metrics", ConfigNode::make_map(std::move(metrics), {}), {}});
  if (!reasons.empty()) entries.push_back({"undefined", ConfigNode::make_map(std::move(reasons), {}), {}});
  return entries;
}

}  // namespace skyline::app
