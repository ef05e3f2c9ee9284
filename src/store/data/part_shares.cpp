#include "store/data/part_shares.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include "store/data/group_draw.hpp"

#include <algorithm>
#include <map>

namespace skyline::store {
namespace {

std::size_t share_of(std::size_t count, double share) {
  return static_cast<std::size_t>(static_cast<double>(count) * share + 1e-9);
}

std::vector<Part> last_parts(std::size_t count, const PartShares& shares) {
  const std::size_t test = share_of(count, shares.test);
  const std::size_t held_out = test + share_of(count, shares.validation);
  std::vector<Part> parts(count, Part::kTrain);
  std::fill(parts.end() - static_cast<std::ptrdiff_t>(held_out), parts.end(), Part::kValidation);
  std::fill(parts.end() - static_cast<std::ptrdiff_t>(test), parts.end(), Part::kTest);
  return parts;
}

std::vector<Part> parts_of_groups(std::span<const std::int32_t> labels, std::span<const std::int32_t> groups,
                                  const PartShares& shares) {
  std::vector<Part> parts(labels.size(), Part::kTrain);
  RandomStream random(derive_seed(shares.seed, "groups of a data set"));
  if (shares.test > 0) {
    const std::size_t others = shares.validation > 0 ? 2 : 1;
    move_groups({labels, groups}, {Part::kTest, shares.test, others}, random, parts);
  }
  if (shares.validation > 0)
    move_groups({labels, groups}, {Part::kValidation, shares.validation, 1}, random, parts);
  return parts;
}

std::string percent_text(double share) {
  const double percent = 100 * share;
  std::string text = std::to_string(percent);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text + " %";
}

}  // namespace

std::vector<Part> draw_parts(std::span<const std::int32_t> labels, const PartShares& shares,
                             std::span<const std::int32_t> groups) {
  if (shares.test + shares.validation >= 1)
    throw UserError("--test and --validation: together they leave nothing to train on");
  if (shares.split == Split::kLast) return last_parts(labels.size(), shares);
  if (shares.split == Split::kGroups) return parts_of_groups(labels, groups, shares);
  std::map<std::int32_t, std::vector<std::size_t>> by_label;
  for (std::size_t i = 0; i < labels.size(); ++i) by_label[labels[i]].push_back(i);
  std::vector<Part> parts(labels.size(), Part::kTrain);
  RandomStream random(derive_seed(shares.seed, "parts of a data set"));
  for (auto& [label, samples] : by_label) {
    random.shuffle(std::span(samples));
    const std::size_t test = share_of(samples.size(), shares.test);
    const std::size_t held_out = test + share_of(samples.size(), shares.validation);
    for (std::size_t i = 0; i < held_out; ++i) parts[samples[i]] = i < test ? Part::kTest : Part::kValidation;
  }
  return parts;
}

std::string draw_text(const PartShares& shares, bool has_classes) {
  if (shares.test + shares.validation <= 0) return {};
  if (shares.split == Split::kLast) {
    const std::string test = "the last " + percent_text(shares.test) + " are the test set";
    if (shares.validation <= 0) return test;
    if (shares.test <= 0) return "the last " + percent_text(shares.validation) + " are the validation set";
    return test + ", the " + percent_text(shares.validation) + " before them the validation set";
  }
  const bool by_group = shares.split == Split::kGroups;
  std::string text;
  if (shares.test > 0)
    text += percent_text(shares.test) + (by_group || !has_classes ? " of the samples" : " of every class") +
            " are the test set, ";
  if (shares.validation > 0) text += percent_text(shares.validation) + " the validation set, ";
  if (by_group) text = "about " + text + "in whole groups, ";
  return text + "drawn with seed " + std::to_string(shares.seed);
}

}  // namespace skyline::store
