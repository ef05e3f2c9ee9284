#include "store/data/sample_draw.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <map>

namespace skyline::store {
namespace {

struct Group {
  std::vector<std::size_t> samples;
  std::map<std::int32_t, std::size_t> counts;  // number of its samples by class
};

/// The samples of one class.
struct ClassNeed {
  double all = 0;           // samples in all parts
  double wanted = 0;        // samples that the part still lacks; below 0 if it has more than its share
  std::size_t trained = 0;  // samples in the training set
};

using ClassNeeds = std::map<std::int32_t, ClassNeed>;

/// Returns by how much the part's distance from its share grows with a group: the sum of the squared
/// differences of all classes, each divided by the number of its samples.
double distance_with(const Group& group, const ClassNeeds& needs) {
  double growth = 0;
  for (const auto& [label, count] : group.counts) {
    const ClassNeed& need = needs.at(label);
    const auto added = static_cast<double>(count);
    growth += added * (added - 2 * need.wanted) / need.all;
  }
  return growth;
}

bool may_move(const Group& group, const ClassNeeds& needs) {
  return std::ranges::all_of(group.counts,
                             [&](const auto& entry) { return entry.second < needs.at(entry.first).trained; });
}

void move(const Group& group, Part part, ClassNeeds& needs, std::vector<Part>& parts) {
  for (const std::size_t sample : group.samples) parts[sample] = part;
  for (const auto& [label, count] : group.counts) {
    needs[label].wanted -= static_cast<double>(count);
    needs[label].trained -= count;
  }
}

}  // namespace

void move_groups(const GroupedSamples& samples, const GroupDraw& draw, RandomStream& random,
                 std::vector<Part>& parts) {
  std::map<std::int32_t, Group> by_number;
  ClassNeeds needs;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ClassNeed& need = needs[samples.labels[i]];
    ++need.all;
    if (parts[i] != Part::kTrain) continue;
    ++need.trained;
    Group& group = by_number[samples.groups[i]];
    group.samples.push_back(i);
    ++group.counts[samples.labels[i]];
  }
  for (auto& [label, need] : needs) need.wanted = draw.share * need.all;
  if (by_number.size() < draw.least_left + 1) {
    throw UserError("groups: expected at least " + std::to_string(draw.least_left + 1) +
                    ", one for each part, got " + std::to_string(by_number.size()));
  }
  std::vector<const Group*> groups;
  for (const auto& [number, group] : by_number) groups.push_back(&group);
  random.shuffle(std::span(groups));
  std::size_t left = groups.size();
  const Group* best = nullptr;  // in case that none brings the part closer to its share
  for (const Group* const group : groups) {
    if (left == draw.least_left || !may_move(*group, needs)) continue;
    const double growth = distance_with(*group, needs);
    if (growth < 0) {
      move(*group, draw.part, needs, parts);
      --left;
    } else if (best == nullptr || growth < distance_with(*best, needs)) {
      best = group;
    }
  }
  if (left < groups.size()) return;
  if (best == nullptr) {
    throw UserError("groups: none can be the " + std::string(to_text(draw.part)) +
                    " set, since each has all training samples of a class");
  }
  move(*best, draw.part, needs, parts);
}

std::vector<std::int64_t> calibration_samples(const Dataset& dataset, const SplitIndices& split,
                                              std::size_t count, std::uint64_t seed) {
  const SampleView& train = dataset.train();
  std::vector<std::int32_t> classes(train.count);
  if (train.target_kind() == TargetKind::kClasses)
    classes.assign(train.classes().begin(), train.classes().end());
  return stratified_part(classes, split.train, count, seed);
}

}  // namespace skyline::store
