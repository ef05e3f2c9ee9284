#include "app/models/prediction_table.hpp"

#include "core/text/foreign_text.hpp"
#include "report/files/search_state_csv.hpp"
#include "train/scoring/answers.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace skyline::app {
namespace {

using store::TargetKind;

std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

}  // namespace

PredictionTable::PredictionTable(const SourceRows& rows, const store::Dataset& samples, bool names_trials)
    : rows_(rows),
      names_(samples.class_names()),
      targets_(samples.test().target_kind()),
      names_trials_(names_trials) {
  std::vector<std::string> titles{rows_.title};
  if (names_trials_) titles.emplace_back("trial");
  if (targets_ == TargetKind::kClasses) titles.emplace_back("class");
  if (rows_.may_fail) titles.emplace_back("error");
  std::vector<std::string> columns = names_;
  const auto clashes = [&](const std::string& name) {
    return std::ranges::find(titles, name) != titles.end();
  };
  while (std::ranges::any_of(columns, clashes)) {
    for (std::string& name : columns) name.insert(0, "output_");
  }
  titles.insert(titles.end() - (rows_.may_fail ? 1 : 0), columns.begin(), columns.end());
  add_line(titles);
}

void PredictionTable::add(trial::TrialNumber trial, std::span<const float> outputs) {
  for (const SourceRows::Row& row : rows_.rows) {
    std::vector<std::string> fields{row.name};
    if (names_trials_) fields.push_back(std::to_string(trial));
    if (row.problem.empty()) {
      add_answers(outputs.first(names_.size()), fields);
      outputs = outputs.subspan(names_.size());
    } else {
      fields.resize(fields.size() + names_.size() + (targets_ == TargetKind::kClasses ? 1 : 0));
    }
    if (rows_.may_fail) fields.push_back(printable(row.problem));
    add_line(fields);
  }
}

void PredictionTable::add_answers(std::span<const float> outputs, std::vector<std::string>& fields) const {
  const auto answers = train::to_answers(outputs, targets_);
  const auto best = static_cast<std::size_t>(std::ranges::max_element(answers) - answers.begin());
  if (targets_ == TargetKind::kClasses) fields.push_back(names_[best]);
  for (const double answer : answers) fields.push_back(short_number(answer));
}

void PredictionTable::add_line(const std::vector<std::string>& fields) {
  csv_ += report::csv_line(fields);
  ++lines_;
}

}  // namespace skyline::app
