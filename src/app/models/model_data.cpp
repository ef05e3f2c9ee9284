#include "app/models/model_data.hpp"

#include "skyline/core/config_node.hpp"
#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"

#include "core/config/config_text.hpp"
#include "core/config/foreign_words.hpp"
#include "store/arrays/preparation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>
#include <vector>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;

using store::SampleView;
using store::TargetKind;

/// Presents samples of another file as samples of the run's data set.
class LikeTheRuns final : public store::Dataset {
 public:
  /// @param samples  samples of `file`
  LikeTheRuns(std::shared_ptr<const store::Dataset> file, const SampleView& samples, const DataOptions& run)
      : file_(std::move(file)),
        shape_(run.shape.value()),
        names_(run.class_names),
        mean_(run.mean),
        deviation_(run.deviation),
        value_scale_(run.value_scale.value()),
        preparation_(run.preparation),
        view_(samples) {}

  void set_targets(store::Samples targets) {
    own_.targets = std::move(targets.targets);
    std::visit([this](const auto& values) { view_.targets = std::span(values); }, own_.targets);
  }
  void set_values(store::Samples samples) {
    own_.values = std::move(samples.values);
    std::visit([this](const auto& values) { view_.values = std::span(values); }, own_.values);
  }

  const space::Shape& shape() const override { return shape_; }
  const std::vector<std::string>& class_names() const override { return names_; }
  const std::vector<double>& mean() const override { return mean_; }
  const std::vector<double>& deviation() const override { return deviation_; }
  double value_scale() const override { return value_scale_; }
  const SampleView& train() const override { return view_; }
  const SampleView& validation() const override { return view_; }
  const SampleView& test() const override { return view_; }
  const std::string& content_hash() const override { return file_->content_hash(); }
  std::string preparation() const override { return preparation_; }

 private:
  std::shared_ptr<const store::Dataset> file_;
  space::Shape shape_;
  std::vector<std::string> names_;
  std::vector<double> mean_;
  std::vector<double> deviation_;
  double value_scale_;
  std::string preparation_;
  store::Samples own_;  // targets and values that differ from the file's
  SampleView view_;
};

bool is_dataset(const std::vector<fs::path>& sources) {
  return sources.size() == 1 && fs::is_regular_file(sources.front()) &&
         store::Dataset::recognizes(sources.front());
}

/// Returns what new samples shall be like, as JSON (RunData in python/skyline/prep/kinds.py).
std::string run_json(const DataOptions& run) {
  std::vector<ConfigNode> names;
  for (const std::string& name : run.class_names) names.push_back(ConfigNode::make_scalar(name, {}, true));
  const space::Shape& shape = run.shape.value();
  std::vector<ConfigNode> sizes;
  for (const std::int64_t size : {shape.channels, shape.height, shape.width}) {
    sizes.push_back(ConfigNode::make_integer(size));
  }
  const std::string targets(to_text(run.targets.value_or(TargetKind::kClasses)));
  return to_json(
      ConfigNode::make_map({{"shape", ConfigNode::make_list(std::move(sizes), {}), {}},
                            {"class_names", ConfigNode::make_list(std::move(names), {}), {}},
                            {"targets", ConfigNode::make_scalar(targets, {}, true), {}},
                            {"value_scale", ConfigNode::make_number(run.value_scale.value()), {}},
                            {"preparation", ConfigNode::make_scalar(run.preparation, {}, true), {}}},
                           {}));
}

std::shared_ptr<const store::Dataset> prepare(const DataOptions& data, const DataChoice& choice,
                                              bool has_targets, SourceRows* rows) {
  PrepSource samples{.title = "preparing " + choice.sources.front().string(),
                     .kind = choice.kind.empty() ? "auto" : choice.kind,
                     .words = {},
                     .by_with = true};
  samples.add(choice.options, choice.sources);
  return make_samples(samples, run_json(data), has_targets, rows);
}

store::Part chosen_part(const store::Dataset& dataset, const DataChoice& choice) {
  const auto named =
      std::ranges::find(store::kAllParts, choice.part, [](store::Part part) { return to_text(part); });
  if (named != store::kAllParts.end()) return *named;
  if (dataset.test().count > 0) return store::Part::kTest;
  return dataset.validation().count > 0 ? store::Part::kValidation : store::Part::kTrain;
}

const SampleView& samples_of(const store::Dataset& dataset, store::Part part) {
  if (part == store::Part::kTrain) return dataset.train();
  return part == store::Part::kTest ? dataset.test() : dataset.validation();
}

/// Leaves the rows of one part. Samples of a source without rows are known by their numbers.
void choose_rows(SourceRows& rows, store::Part part, std::size_t samples) {
  std::erase_if(rows.rows, [part](const SourceRows::Row& row) { return row.part != part; });
  for (std::size_t i = rows.rows.size(); i < samples; ++i) rows.rows.push_back({part, std::to_string(i), {}});
  const auto with_sample =
      std::ranges::count_if(rows.rows, [](const auto& row) { return row.problem.empty(); });
  require(static_cast<std::size_t>(with_sample) == samples,
          "python/skyline/prep names a row for each sample");
}

void check_samples(const std::string& label, const store::Dataset& dataset, const SampleNeeds& needs) {
  const DataOptions& run = needs.data;
  if (dataset.shape() != *run.shape) {
    throw UserError(label + ": samples are " + space::to_text(dataset.shape()) + ", " + needs.owner +
                    "'s are " + space::to_text(*run.shape));
  }
  if (dataset.value_scale() == *run.value_scale) return;
  const std::string largest = objective::number_text(*run.value_scale);
  if (dataset.value_scale() == 1) {
    throw UserError(label + ": expected whole numbers from 0 to " + largest + ", as " + needs.owner +
                    "'s data are, got others");
  }
  throw UserError(label + ": the largest value is " + objective::number_text(dataset.value_scale()) +
                  ", that of " + needs.owner + "'s data " + largest);
}

/// Numbers the classes as the run does, by their names.
store::Samples renumbered(const std::string& label, const store::Dataset& dataset, const SampleView& samples,
                          const SampleNeeds& needs) {
  const DataOptions& run = needs.data;
  std::vector<std::int32_t> numbers;
  for (const std::string& name : dataset.class_names()) {
    const auto known = std::ranges::find(run.class_names, name);
    if (known == run.class_names.end()) {
      throw UserError(label + ": " + needs.owner + " does not know the class `" + name + "`, " +
                      suggestion(name, run.class_names, NamesOf::kUser));
    }
    numbers.push_back(static_cast<std::int32_t>(known - run.class_names.begin()));
  }
  std::vector<std::int32_t> targets;
  for (const std::int32_t each : samples.classes())
    targets.push_back(numbers[static_cast<std::size_t>(each)]);
  return {.targets = std::move(targets)};
}

/// Makes targets of the run's kind, all zero, one per sample.
store::Samples no_targets(std::size_t count, const DataOptions& run) {
  const std::size_t all = count * run.class_names.size();
  switch (run.targets.value_or(TargetKind::kClasses)) {
    case TargetKind::kClasses:
      return {.targets = std::vector<std::int32_t>(count)};
    case TargetKind::kLabels:
      return {.targets = std::vector<std::uint8_t>(all)};
    case TargetKind::kNumbers:
      return {.targets = std::vector<float>(all)};
  }
  throw InternalError("unknown targets");
}

/// Returns whether samples that were prepared so have the values of their table or arrays.
bool leaves_values(const store::Preparation& preparation) {
  return std::ranges::all_of(preparation.features, [](const store::SampleFeature& feature) {
    return feature == store::SampleFeature{.column = feature.column, .missing = feature.missing};
  });
}

/// Reads a preparation of these samples; others may have written it. Without one it is empty.
store::Preparation preparation_in(const std::string& label, const std::string& json,
                                  const store::Dataset& dataset) {
  if (json.empty()) return {};
  store::Preparation preparation = store::read_preparation(json);
  if (!preparation.makes(dataset.shape().elements()))
    throw UserError(label + ": expected a preparation of " + std::to_string(dataset.shape().elements()) +
                    " values, got one of " + std::to_string(preparation.features.size()));
  return preparation;
}

/// The preparation of a file, and the one that is wanted.
struct Preparations {
  bool differ = false;
  bool by_name = false;  // whether the file's features are found by their names
  store::Preparation of_file;
  store::Preparation of_run;
};

/// @throws UserError if samples that were prepared so cannot be brought to the wanted preparation
Preparations preparations_of(const std::string& label, const store::Dataset& file, const SampleNeeds& needs) {
  Preparations how{.differ = file.preparation() != needs.data.preparation,
                   .of_file = preparation_in(label, file.preparation(), file),
                   .of_run = preparation_in(label, needs.data.preparation, file)};
  if (how.of_file.signal != how.of_run.signal) {
    throw UserError(label + ": was not prepared as " + needs.owner +
                    "'s data: give the sounds or the recordings themselves by --data");
  }
  how.by_name = how.differ && !how.of_file.features.empty() && !how.of_run.features.empty();
  if (how.differ && !how.by_name && !(leaves_values(how.of_file) && leaves_values(how.of_run)))
    throw UserError(label + ": was not prepared as " + needs.owner +
                    "'s data: give the table or the arrays by --data");
  return how;
}

/// Returns for each feature of the run its place in a data set of another table, which was prepared alike.
std::vector<std::size_t> places_of_features(const std::string& label, const store::Preparation& file,
                                            const store::Preparation& run, const std::string& owner) {
  std::vector<std::size_t> places;
  for (const store::SampleFeature& feature : run.features) {
    const auto found = std::ranges::find(file.features, feature);
    if (found == file.features.end()) {
      throw UserError(label + ": was not prepared as " + owner + "'s data: it has no feature `" +
                      feature.name() + "` that is made alike: give the table itself by --data");
    }
    places.push_back(static_cast<std::size_t>(found - file.features.begin()));
  }
  return places;
}

/// Brings the values of a prepared table into the order of the run's features.
template <typename Value>
std::vector<Value> in_order(std::span<const Value> values, const std::vector<std::size_t>& places) {
  std::vector<Value> ordered;
  ordered.reserve(values.size());
  for (std::size_t row = 0; row < values.size(); row += places.size()) {
    for (const std::size_t place : places) ordered.push_back(values[row + place]);
  }
  return ordered;
}

/// Brings numbers of a prepared table to the scale of the run's targets.
/// @throws UserError for a number without a logarithm, where the run has learned logarithms
std::vector<float> rescaled(const std::string& label, std::span<const float> numbers,
                            const std::vector<store::TargetColumn>& file,
                            const std::vector<store::TargetColumn>& run, const std::string& owner) {
  std::vector<float> scaled(numbers.begin(), numbers.end());
  const store::TargetColumn unscaled;
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    const store::TargetColumn& from = file.empty() ? unscaled : file[i % file.size()];
    const store::TargetColumn& to = run.empty() ? unscaled : run[i % run.size()];
    if (from.scales_like(to)) continue;
    const double number = from.number(static_cast<double>(scaled[i]));
    scaled[i] = static_cast<float>(to.stored(number));
    if (std::isfinite(scaled[i]) || !std::isfinite(number)) continue;
    throw UserError(label + ": the target of sample " +
                    std::to_string(i / std::max<std::size_t>(run.size(), 1)) + " is " +
                    objective::number_text(number) + ", which has no logarithm, and " + owner +
                    " has learned those of its targets (" + std::string(to_text(to.transform)) + ")");
  }
  return scaled;
}

/// Returns needs with the facts of a data set in place of those that nobody has stated.
SampleNeeds completed(SampleNeeds needs, const store::Dataset& dataset) {
  DataOptions& data = needs.data;
  if (!data.value_scale && data.preparation.empty()) data.preparation = dataset.preparation();
  if (!data.value_scale) data.value_scale = dataset.value_scale();
  if (!data.class_names.empty()) return needs;
  data.targets = dataset.train().target_kind();
  data.class_names = dataset.class_names();
  data.preparation = dataset.preparation();
  return needs;
}

/// Opens the data set that is named, or makes one of what is named.
/// @throws UserError for a source of which it is not known how to prepare it
std::shared_ptr<const store::Dataset> open_source(const SampleNeeds& needs, const DataChoice& choice,
                                                  bool has_targets, SourceRows* rows) {
  const std::string label = choice.sources.front().string();
  if (is_dataset(choice.sources)) {
    if (!choice.options.empty()) throw UserError("--with: " + label + " is a prepared data set");
    return store::Dataset::open(choice.sources.front(), true);
  }
  if (needs.data.class_names.empty() || !needs.data.value_scale) {
    throw UserError(label + ": expected a prepared data set (skyline prep), as " + needs.owner +
                    " does not say how its samples are prepared");
  }
  return prepare(needs.data, choice, has_targets, rows);
}

/// Reads the targets of samples into `dataset`, as those of the model's own data are.
void take_targets(const std::string& label, const SampleNeeds& needs, const store::Dataset& file,
                  const SampleView& samples, const Preparations& how, LikeTheRuns& dataset) {
  const DataOptions& run = needs.data;
  // Names of outputs without a kind are those of classes.
  const TargetKind wanted = run.targets.value_or(TargetKind::kClasses);
  if (samples.target_kind() != wanted) {
    throw UserError(label + ": its targets are " + std::string(to_text(samples.target_kind())) + ", " +
                    needs.owner + "'s are " + std::string(to_text(wanted)));
  }
  if (samples.target_kind() == TargetKind::kClasses) {
    dataset.set_targets(renumbered(label, file, samples, needs));
  } else if (file.class_names().size() != run.class_names.size()) {
    throw UserError(label + ": has " + to_text(samples.target_kind(), file.class_names().size()) + ", " +
                    needs.owner + " " + to_text(samples.target_kind(), run.class_names.size()));
  } else if (how.differ) {
    if (how.by_name && file.class_names() != run.class_names)
      throw UserError(label + ": its targets are not those of " + needs.owner +
                      ": give the table itself by --data");
    if (samples.target_kind() == TargetKind::kNumbers) {
      dataset.set_targets({.targets = rescaled(label, std::get<2>(samples.targets), how.of_file.targets,
                                               how.of_run.targets, needs.owner)});
    }
  }
}

}  // namespace

std::shared_ptr<const store::Dataset> open_model_data(const SampleNeeds& stated, const DataChoice& choice,
                                                      bool has_targets, SourceRows* rows) {
  const std::string label = choice.sources.front().string();
  const auto file = open_source(stated, choice, has_targets, rows);
  const SampleNeeds needs = completed(stated, *file);
  check_samples(label, *file, needs);
  store::Part part = chosen_part(*file, choice);
  const SampleView samples = samples_of(*file, part);
  if (rows != nullptr) {
    const bool has_reasons = samples.count == 0 && !rows->rows.empty();  // no row is a sample
    if (has_reasons && choice.part.empty()) part = rows->rows.front().part;
    choose_rows(*rows, part, samples.count);
  }
  if (samples.count == 0 && (rows == nullptr || rows->rows.empty()))
    throw UserError(label + ": no samples" + (choice.part.empty() ? "" : " in this part"));
  const auto dataset = std::make_shared<LikeTheRuns>(file, samples, needs.data);
  const Preparations how = preparations_of(label, *file, needs);
  if (how.by_name) {
    const auto places = places_of_features(label, how.of_file, how.of_run, needs.owner);
    dataset->set_values(std::visit(
        [&](auto values) { return store::Samples{.values = in_order(values, places)}; }, samples.values));
  }
  if (has_targets) {
    take_targets(label, needs, *file, samples, how, *dataset);
  } else {
    dataset->set_targets(no_targets(samples.count, needs.data));
  }
  return dataset;
}

}  // namespace skyline::app
