#include "skyline/store/dataset.hpp"

#include "skyline/core/error.hpp"

#include "store/data/dataset_layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace skyline::store {
namespace {

[[noreturn]] void fail_on_contents(const std::filesystem::path& path, const std::string& message) {
  throw UserError(path.string() + ": " + message);
}

/// Where some values of a part are, for messages.
struct ValuesPlace {
  const std::filesystem::path& path;
  std::string name;       // "train value"
  std::size_t first = 0;  // number of the first value
};

/// Fails on the first value that is not right.
template <typename T, typename IsRight>
void check_all(std::span<const T> values, const ValuesPlace& place, const std::string& expected,
               IsRight is_right) {
  const auto wrong = std::ranges::find_if_not(values, is_right);
  if (wrong == values.end()) return;
  const std::size_t number = place.first + static_cast<std::size_t>(wrong - values.begin());
  fail_on_contents(place.path, place.name + " number " + std::to_string(number) + ": expected " + expected +
                                   ", got " + std::to_string(*wrong));
}

void check_finite(std::span<const float> values, const ValuesPlace& place) {
  check_all(values, place, "a finite number", [](float value) { return std::isfinite(value); });
}

}  // namespace

const char* to_text(Part part) {
  constexpr std::array kNames{"train", "validation", "test"};
  return kNames.at(static_cast<std::size_t>(part));
}

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
  const std::size_t size = std::visit([](const auto& array) { return array.size(); }, targets);
  view.count = size / targets_per_sample(view.target_kind(), outputs);
  view.groups = groups;
  return view;
}

void check_classes(const SampleView& samples, std::size_t classes, const std::string& part,
                   const std::filesystem::path& path, std::size_t first) {
  check_all(samples.classes(), {path, part + " class", first}, "0 to " + std::to_string(classes - 1),
            [&](std::int32_t label) { return label >= 0 && static_cast<std::size_t>(label) < classes; });
}

void check_values(const SampleView& samples, std::size_t outputs, const std::string& part,
                  const std::filesystem::path& path, std::size_t first) {
  if (!samples.has_pixels()) {
    const auto& values = std::get<1>(samples.values);
    check_finite(values,
                 {path, part + " value", first * (values.size() / std::max<std::size_t>(samples.count, 1))});
  }
  const ValuesPlace targets{path, part + " target", first * outputs};
  switch (samples.target_kind()) {
    case TargetKind::kClasses:
      return check_classes(samples, outputs, part, path, first);
    case TargetKind::kLabels:
      return check_all(std::get<1>(samples.targets), targets, "0 or 1",
                       [](std::uint8_t label) { return label <= 1; });
    case TargetKind::kNumbers:
      return check_finite(std::get<2>(samples.targets), targets);
  }
}

}  // namespace skyline::store
