#include "app/models/model_data.hpp"

#include "skyline/core/config_node.hpp"
#include "skyline/core/error.hpp"

#include "core/text/hash.hpp"
#include "core/text/wording.hpp"
#include "store/arrays/preparation.hpp"
#include "store/images/image.hpp"

#include <algorithm>
#include <fstream>
#include <system_error>
#include <thread>
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

 private:
  std::shared_ptr<const store::Dataset> file_;
  space::Shape shape_;
  std::vector<std::string> names_;
  std::vector<double> mean_;
  std::vector<double> deviation_;
  double value_scale_;
  store::Samples own_;  // what is not as in the file
  SampleView view_;
};

/// Returns the first bytes of a file.
std::string start_of(const fs::path& path) {
  std::string start(16, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), std::ssize(start));
  start.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return start;
}

bool is_dataset(const std::vector<fs::path>& sources) {
  return sources.size() == 1 && fs::is_regular_file(sources.front()) &&
         store::Dataset::recognizes(sources.front());
}

/// Returns the importer's options; those that follow from the run are added unless they are given.
ConfigNode prep_options(const store::Importer& importer, const DataChoice& choice, const DataOptions& run) {
  std::vector<ConfigNode::Entry> entries;
  const auto add = [&](const std::string& key, const std::string& text) {
    ConfigNode value = ConfigNode::make_scalar(text, {});
    value.assign_paths("--with " + key);
    entries.push_back({key, std::move(value), {}});
  };
  for (const auto& [key, text] : choice.options) add(key, text);
  const auto keys = importer.keys();
  const auto preset = [&](const std::string& key, const std::string& text) {
    const bool known = keys != nullptr && std::ranges::any_of(keys->keys(), [&](const OptionKey& each) {
                         return each.name == key;
                       });
    const auto given = [&](const auto& option) { return option.first == key; };
    if (known && std::ranges::none_of(choice.options, given)) add(key, text);
  };
  preset("size", std::to_string(run.shape->height) + "x" + std::to_string(run.shape->width));
  preset("value-scale", objective::number_text(*run.value_scale));
  preset("test", "0");
  if (run.targets) preset("targets", std::string(to_text(*run.targets)));
  return ConfigNode::make_map(std::move(entries), {});
}

/// Prepares sources in a temporary file, which is opened and then removed.
std::shared_ptr<const store::Dataset> prepare(const ModelSource& source, const DataChoice& choice,
                                              bool has_targets, store::SourceRows* rows) {
  const std::string kind = choice.kind.empty() ? kind_of_source(choice.sources.front()) : choice.kind;
  const auto importer = store::find_importer(kind);
  if (importer == nullptr) {
    throw UserError("--kind: unknown kind of data `" + kind + "`, " +
                    suggestion(kind, store::importer_names()));
  }
  const bool reads_targets = has_targets || !importer->reads_samples_alone();
  if (reads_targets && choice.sources.size() > 1 && !importer->sources().ends_with("..."))
    throw UserError("--data: expected one " + importer->sources() + ", got " +
                    std::to_string(choice.sources.size()));
  const fs::path file = fs::temp_directory_path() / ("skyline-" + to_hex(random_token()) + ".h5");
  store::DatasetWriter writer(file);
  import_by_with(*importer,
                 {.paths = choice.sources,
                  .options = prep_options(*importer, choice, source.data),
                  .threads = std::max(std::thread::hardware_concurrency(), 1U),
                  .has_targets = reads_targets,
                  .shape = source.data.shape,
                  .rows = rows,
                  .preparation = source.data.preparation},
                 writer);
  writer.finish();
  auto dataset = store::Dataset::open(file, false);
  std::error_code ignored;  // the file is temporary
  fs::remove(file, ignored);
  return dataset;
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
void choose_rows(store::SourceRows& rows, store::Part part, std::size_t samples) {
  std::erase_if(rows.rows, [part](const store::SourceRows::Row& row) { return row.part != part; });
  for (std::size_t i = rows.rows.size(); i < samples; ++i) rows.rows.push_back({part, std::to_string(i), {}});
  const auto with_sample =
      std::ranges::count_if(rows.rows, [](const auto& row) { return row.problem.empty(); });
  require(static_cast<std::size_t>(with_sample) == samples, "the importer names a row for each sample");
}

void check_samples(const std::string& label, const store::Dataset& dataset, const DataOptions& run) {
  if (dataset.shape() != *run.shape) {
    throw UserError(label + ": samples are " + space::to_text(dataset.shape()) + ", the run's are " +
                    space::to_text(*run.shape));
  }
  if (dataset.value_scale() == *run.value_scale) return;
  const std::string largest = objective::number_text(*run.value_scale);
  if (dataset.value_scale() == 1) {
    throw UserError(label + ": expected whole numbers from 0 to " + largest +
                    ", as the run's data are, got others");
  }
  throw UserError(label + ": the largest value is " + objective::number_text(dataset.value_scale()) +
                  ", that of the run's data " + largest);
}

/// Numbers the classes as the run does, by their names.
store::Samples renumbered(const std::string& label, const store::Dataset& dataset, const SampleView& samples,
                          const DataOptions& run) {
  std::vector<std::int32_t> numbers;
  for (const std::string& name : dataset.class_names()) {
    const auto known = std::ranges::find(run.class_names, name);
    if (known == run.class_names.end()) {
      throw UserError(label + ": the run does not know the class `" + name + "`, " +
                      suggestion(name, run.class_names));
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
  return std::ranges::all_of(preparation.features, [](const store::Feature& feature) {
    return feature == store::Feature{.column = feature.column, .missing = feature.missing};
  });
}

/// Reads a preparation of these samples; others may have written it. Without one it is empty.
store::Preparation preparation_in(const std::string& label, const std::string& json,
                                  const store::Dataset& dataset) {
  if (json.empty()) return {};
  store::Preparation preparation = store::read_preparation(json);
  if (std::ssize(preparation.features) != dataset.shape().elements())
    throw UserError(label + ": expected a preparation of " + std::to_string(dataset.shape().elements()) +
                    " values, got one of " + std::to_string(preparation.features.size()));
  return preparation;
}

/// Returns for each feature of the run its place in a data set of another table, which was prepared alike.
std::vector<std::size_t> places_of_features(const std::string& label, const store::Preparation& file,
                                            const store::Preparation& run) {
  std::vector<std::size_t> places;
  for (const store::Feature& feature : run.features) {
    const auto found = std::ranges::find(file.features, feature);
    if (found == file.features.end()) {
      throw UserError(label + ": was not prepared as the run's data: it has no feature `" + feature.name() +
                      "` that is made alike: give the table itself by --data");
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
std::vector<float> rescaled(std::span<const float> numbers, const std::vector<store::TargetColumn>& file,
                            const std::vector<store::TargetColumn>& run) {
  std::vector<float> scaled(numbers.begin(), numbers.end());
  const store::TargetColumn unscaled;
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    const store::TargetColumn& from = file.empty() ? unscaled : file[i % file.size()];
    const store::TargetColumn& to = run.empty() ? unscaled : run[i % run.size()];
    if (from.mean == to.mean && from.deviation == to.deviation) continue;
    const double value = static_cast<double>(scaled[i]) * from.deviation + from.mean;
    scaled[i] = static_cast<float>((value - to.mean) / to.deviation);
  }
  return scaled;
}

}  // namespace

std::string kind_of_source(const fs::path& source) {
  if (fs::is_directory(source)) return "images";
  if (!fs::is_regular_file(source)) return "arrays";  // refused there; a read would wait for a pipe's writer
  const std::string start = start_of(source);
  return store::is_image(start) || !store::foreign_image_kind(start).empty() ? "images" : "arrays";
}

std::string spelled_by_with(std::string_view message, const store::Importer& importer) {
  const auto keys = importer.keys();
  std::string text;
  while (!message.empty()) {
    const bool begins =
        message.starts_with("--") && (text.empty() || text.ends_with(' ') || text.ends_with('('));
    const std::size_t end =
        std::min(message.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), message.size());
    const std::string word(message.substr(begins ? 2 : 0, begins ? end - 2 : 0));
    const auto is_word = [&word](const OptionKey& key) { return key.name == word; };
    const bool is_option = begins && keys != nullptr && std::ranges::any_of(keys->keys(), is_word);
    text += is_option ? "--with " + word + "=" : std::string(message.substr(0, 1));
    message.remove_prefix(is_option ? end : 1);
    if (is_option && message.starts_with('=')) message.remove_prefix(1);
  }
  return text;
}

void import_by_with(const store::Importer& importer, const store::ImportSource& source,
                    store::DatasetWriter& writer) {
  try {
    importer.import(source, writer);
  } catch (const UserError& error) {
    throw UserError(spelled_by_with(error.what(), importer));
  }
}

std::shared_ptr<const store::Dataset> open_model_data(const ModelSource& source, const DataChoice& choice,
                                                      bool has_targets, store::SourceRows* rows) {
  const DataOptions& run = source.data;
  const std::string label = choice.sources.front().string();
  auto file = is_dataset(choice.sources) ? store::Dataset::open(choice.sources.front(), true)
                                         : prepare(source, choice, has_targets, rows);
  check_samples(label, *file, run);
  const store::Part part = chosen_part(*file, choice);
  const SampleView samples = samples_of(*file, part);
  if (samples.count == 0)
    throw UserError(label + ": no samples" + (choice.part.empty() ? "" : " in this part"));
  if (rows != nullptr) choose_rows(*rows, part, samples.count);
  const auto dataset = std::make_shared<LikeTheRuns>(file, samples, run);
  const bool differ = file->preparation() != run.preparation;
  const store::Preparation of_file = preparation_in(label, file->preparation(), *file);
  const store::Preparation of_run = preparation_in(label, run.preparation, *file);
  const bool by_name = differ && !of_file.features.empty() && !of_run.features.empty();
  if (differ && !by_name && !(leaves_values(of_file) && leaves_values(of_run)))
    throw UserError(label + ": was not prepared as the run's data: give the table or the arrays by --data");
  if (by_name) {
    const auto places = places_of_features(label, of_file, of_run);
    dataset->set_values(std::visit(
        [&](auto values) { return store::Samples{.values = in_order(values, places)}; }, samples.values));
  }
  if (!has_targets) {
    dataset->set_targets(no_targets(samples.count, run));
    return dataset;
  }
  if (samples.target_kind() != run.targets.value_or(TargetKind::kClasses)) {
    throw UserError(label + ": its targets are " + std::string(to_text(samples.target_kind())) +
                    ", the run's are " + std::string(to_text(*run.targets)));
  }
  if (samples.target_kind() == TargetKind::kClasses) {
    dataset->set_targets(renumbered(label, *file, samples, run));
  } else if (file->class_names().size() != run.class_names.size()) {
    throw UserError(label + ": has " + to_text(samples.target_kind(), file->class_names().size()) +
                    ", the run " + to_text(samples.target_kind(), run.class_names.size()));
  } else if (differ) {
    if (by_name && file->class_names() != run.class_names)
      throw UserError(label + ": its targets are not those of the run: give the table itself by --data");
    if (samples.target_kind() == TargetKind::kNumbers) {
      dataset->set_targets(
          {.targets = rescaled(std::get<2>(samples.targets), of_file.targets, of_run.targets)});
    }
  }
  return dataset;
}

}  // namespace skyline::app
