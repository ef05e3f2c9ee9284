#include "skyline/store/dataset.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include "store/data/dataset_layout.hpp"
#include "store/data/sample_draw.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

struct ClassShare {
  std::vector<std::int64_t> members;
  std::size_t held_out = 0;
  std::size_t remainder = 0;  // remainder of the exact share, in units of 1 / number of all labels
};

/// Shares out whole numbers that add up to `total`, in proportion to the sizes of the classes. The largest
/// remainders are rounded up; among equal ones the one of the lower label.
void share_out(std::vector<ClassShare>& classes, std::size_t total, std::size_t all) {
  std::size_t given = 0;
  for (ClassShare& share : classes) {
    const std::size_t exact = total * share.members.size();
    share.held_out = exact / all;
    share.remainder = exact % all;
    given += share.held_out;
  }
  std::vector<ClassShare*> order;
  order.reserve(classes.size());
  for (ClassShare& share : classes) order.push_back(&share);
  std::stable_sort(order.begin(), order.end(), [](const ClassShare* left, const ClassShare* right) {
    return left->remainder > right->remainder;
  });
  for (std::size_t i = 0; given < total; ++i, ++given) ++order[i]->held_out;
}

std::size_t held_out_total(std::size_t all, double fraction) {
  if (!(fraction >= 0 && fraction < 1)) {
    throw UserError("validation: expected a share of the training set from 0 to below 1, got " +
                    std::to_string(fraction));
  }
  const auto total = static_cast<std::size_t>(std::llround(fraction * static_cast<double>(all)));
  if (fraction > 0 && (total == 0 || total == all)) {
    throw UserError("validation: a share of " + std::to_string(fraction) + " of " + std::to_string(all) +
                    " samples leaves the " + (total == 0 ? "validation" : "training") + " set empty");
  }
  return total;
}

/// Returns the labels by which a part is split. Without classes all samples get one label.
std::vector<std::int32_t> labels_of(const SampleView& samples) {
  if (samples.target_kind() != TargetKind::kClasses) return std::vector<std::int32_t>(samples.count);
  return {samples.classes().begin(), samples.classes().end()};
}

/// Holds out the last samples, or whole groups.
/// @pre the samples are in the order of time, or in groups
SplitIndices hold_out(const Dataset& dataset, std::span<const std::int32_t> labels, double share,
                      std::uint64_t seed) {
  const std::size_t total = held_out_total(labels.size(), share);
  std::vector<Part> parts(labels.size(), Part::kTrain);
  if (dataset.in_time_order()) {
    std::fill(parts.end() - static_cast<std::ptrdiff_t>(total), parts.end(), Part::kValidation);
  } else if (total > 0) {
    RandomStream random(derive_seed(seed, "validation groups"));
    move_groups({labels, dataset.train().groups}, {Part::kValidation, share, 1}, random, parts);
  }
  SplitIndices split;
  for (std::size_t i = 0; i < parts.size(); ++i)
    (parts[i] == Part::kTrain ? split.train : split.validation).push_back(static_cast<std::int64_t>(i));
  return split;
}

std::vector<std::int64_t> all_of(std::size_t count) {
  std::vector<std::int64_t> indices(count);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
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

SplitIndices split_dataset(const Dataset& dataset, std::optional<double> share,
                           std::optional<std::size_t> limit, std::uint64_t seed) {
  const bool stored = !share && dataset.validation().count > 0;
  const std::vector<std::int32_t> labels = labels_of(stored ? dataset.validation() : dataset.train());
  SplitIndices split;
  if (stored) {
    split.train = all_of(dataset.train().count);
    split.validation = all_of(labels.size());
    split.stored = true;
  } else if (dataset.in_time_order() || !dataset.train().groups.empty()) {
    split = hold_out(dataset, labels, share.value_or(kHeldOutShare), seed);
  } else {
    split = stratified_split(labels, share.value_or(kHeldOutShare), seed);
  }
  if (limit) split.scored = stratified_part(labels, split.validation, *limit, seed);
  return split;
}

SplitIndices stratified_split(std::span<const std::int32_t> labels, double fraction, std::uint64_t seed) {
  const std::size_t total = held_out_total(labels.size(), fraction);
  std::map<std::int32_t, ClassShare> by_label;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    by_label[labels[i]].members.push_back(static_cast<std::int64_t>(i));
  }
  std::vector<ClassShare> classes;
  classes.reserve(by_label.size());
  for (auto& entry : by_label) classes.push_back(std::move(entry.second));
  if (total > 0) share_out(classes, total, labels.size());

  RandomStream random(derive_seed(seed, "validation split"));
  SplitIndices split;
  for (ClassShare& share : classes) {
    random.shuffle(std::span(share.members));
    const auto border = share.members.begin() + static_cast<std::ptrdiff_t>(share.held_out);
    split.validation.insert(split.validation.end(), share.members.begin(), border);
    split.train.insert(split.train.end(), border, share.members.end());
  }
  std::sort(split.train.begin(), split.train.end());
  std::sort(split.validation.begin(), split.validation.end());
  return split;
}

std::vector<std::int64_t> stratified_part(std::span<const std::int32_t> labels,
                                          std::span<const std::int64_t> indices, std::size_t count,
                                          std::uint64_t seed) {
  std::map<std::int32_t, std::vector<std::int64_t>> by_label;
  for (const std::int64_t index : indices) by_label[labels[static_cast<std::size_t>(index)]].push_back(index);
  RandomStream random(derive_seed(seed, "validation part"));
  std::vector<std::pair<double, std::int64_t>> places;  // spreads each class evenly over the order
  for (auto& [label, members] : by_label) {
    random.shuffle(std::span(members));
    for (std::size_t i = 0; i < members.size(); ++i) {
      const double place = (static_cast<double>(i) + 0.5) / static_cast<double>(members.size());
      places.emplace_back(place, members[i]);
    }
  }
  std::sort(places.begin(), places.end());
  std::vector<std::int64_t> part;
  for (std::size_t i = 0; i < std::min(count, places.size()); ++i) part.push_back(places[i].second);
  std::sort(part.begin(), part.end());
  return part;
}

}  // namespace skyline::store
