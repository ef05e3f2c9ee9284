#include "skyline/store/dataset.hpp"

#include "skyline/core/error.hpp"
#include "skyline/store/importer.hpp"

#include "store/data/dataset_layout.hpp"

#include <algorithm>
#include <cmath>

namespace skyline::store {
namespace {

[[noreturn]] void fail_on_contents(const std::filesystem::path& path, const std::string& message) {
  throw UserError(path.string() + ": " + message);
}

/// Returns the first value that is not right.
template <typename T, typename IsRight>
void check_all(std::span<const T> values, const std::string& what, const std::string& expected,
               const std::filesystem::path& path, IsRight is_right) {
  const auto wrong = std::ranges::find_if_not(values, is_right);
  if (wrong == values.end()) return;
  fail_on_contents(path, what + " number " + std::to_string(wrong - values.begin()) + ": expected " +
                             expected + ", got " + std::to_string(*wrong));
}

void check_finite(std::span<const float> values, const std::string& what, const std::filesystem::path& path) {
  check_all(values, what, "a finite number", path, [](float value) { return std::isfinite(value); });
}

template <typename... Vectors>
std::size_t size_of(const std::variant<Vectors...>& array) {
  return std::visit([](const auto& values) { return values.size(); }, array);
}

void check_part(const Samples& part, const std::string& name, const DatasetContents& contents,
                const std::filesystem::path& path) {
  const std::size_t outputs = contents.class_names.size();
  const std::size_t values = size_of(part.values);
  const std::size_t targets = size_of(part.targets);
  if (values == 0 && targets == 0) return;
  if (part.values.index() != contents.train.values.index() ||
      part.targets.index() != contents.train.targets.index()) {
    fail_on_contents(path, name + ": values or targets of another type than those of train");
  }
  const SampleView view = part.view(outputs);
  const std::size_t each = targets_per_sample(view.target_kind(), outputs);
  if (targets % each != 0) {
    fail_on_contents(path, name + " targets: expected a multiple of " + std::to_string(each) +
                               ", one for each output, got " + std::to_string(targets));
  }
  const auto expected = view.count * static_cast<std::size_t>(contents.shape.elements());
  if (values != expected) {
    fail_on_contents(path, name + " values: expected " + std::to_string(expected) + " for " +
                               std::to_string(view.count) + " samples of shape " +
                               space::to_text(contents.shape) + ", got " + std::to_string(values));
  }
  if (!part.groups.empty() && part.groups.size() != view.count) {
    fail_on_contents(path, name + " groups: expected " + std::to_string(view.count) +
                               ", one for each sample, got " + std::to_string(part.groups.size()));
  }
  check_values(view, outputs, name, path);
}

void check_contents(const DatasetContents& contents, const std::filesystem::path& path) {
  if (size_of(contents.train.targets) == 0) fail_on_contents(path, "the training set is empty");
  if (contents.shape.elements() <= 0) {
    fail_on_contents(path, "samples of shape " + space::to_text(contents.shape));
  }
  const std::size_t least = contents.train.targets.index() == 0 ? 2 : 1;
  if (contents.class_names.size() < least) {
    fail_on_contents(path, "class_names: expected at least " + std::to_string(least) + ", got " +
                               std::to_string(contents.class_names.size()));
  }
  check_part(contents.train, "train", contents, path);
  check_part(contents.validation, "validation", contents, path);
  check_part(contents.test, "test", contents, path);
}

}  // namespace

std::string_view to_text(TargetKind kind) {
  constexpr std::string_view kTexts[] = {"classes", "labels", "numbers"};
  return kTexts[static_cast<std::size_t>(kind)];
}

std::string to_text(TargetKind kind, std::size_t outputs) {
  constexpr std::string_view kSingulars[] = {"class", "label", "number"};
  const std::string_view word = outputs == 1 ? kSingulars[static_cast<std::size_t>(kind)] : to_text(kind);
  return std::to_string(outputs) + " " + std::string(word);
}

SampleView Samples::view(std::size_t outputs) const {
  SampleView view;
  std::visit([&](const auto& array) { view.values = std::span(array); }, values);
  std::visit([&](const auto& array) { view.targets = std::span(array); }, targets);
  view.count = size_of(targets) / targets_per_sample(view.target_kind(), outputs);
  view.groups = groups;
  return view;
}

void check_classes(const SampleView& samples, std::size_t classes, const std::string& part,
                   const std::filesystem::path& path) {
  check_all(samples.classes(), part + " class", "0 to " + std::to_string(classes - 1), path,
            [&](std::int32_t label) { return label >= 0 && static_cast<std::size_t>(label) < classes; });
}

void check_values(const SampleView& samples, std::size_t outputs, const std::string& part,
                  const std::filesystem::path& path) {
  if (!samples.has_pixels()) check_finite(std::get<1>(samples.values), part + " value", path);
  switch (samples.target_kind()) {
    case TargetKind::kClasses:
      return check_classes(samples, outputs, part, path);
    case TargetKind::kLabels:
      return check_all(std::get<1>(samples.targets), part + " target", "0 or 1", path,
                       [](std::uint8_t label) { return label <= 1; });
    case TargetKind::kNumbers:
      return check_finite(std::get<2>(samples.targets), part + " target", path);
  }
}

void write_contents(const DatasetContents& contents, DatasetWriter& writer) {
  const std::size_t outputs = contents.class_names.size();
  const double value_scale = contents.train.values.index() == 0 ? contents.value_scale : 1;
  writer.describe({contents.shape, contents.class_names, contents.source, value_scale});
  writer.append(Part::kTrain, contents.train.view(outputs));
  writer.append(Part::kValidation, contents.validation.view(outputs));
  writer.append(Part::kTest, contents.test.view(outputs));
}

void write_dataset(const std::filesystem::path& path, const DatasetContents& contents) {
  check_contents(contents, path);
  DatasetWriter writer(path);
  write_contents(contents, writer);
  writer.finish();
}

}  // namespace skyline::store
