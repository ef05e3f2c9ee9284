#include "skyline/core/random.hpp"
#include "skyline/store/dataset.hpp"

#include "store/fixtures/sample_dataset.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::DatasetContents;
using skyline::testing::user_error_of;

std::vector<std::int32_t> random_labels(std::size_t count, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<std::int32_t> labels;
  const std::vector<double> weights = {5, 1, 3, 0.2};
  for (std::size_t i = 0; i < count; ++i)
    labels.push_back(static_cast<std::int32_t>(random.weighted(weights)));
  return labels;
}

TEST(StratifiedSplit, IsDisjointCompleteAscendingAndOfTheRightSize) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<std::int32_t> labels = random_labels(100 + 13 * seed, seed);
    const double fraction = 0.01 * static_cast<double>(3 + seed);
    const SplitIndices split = stratified_split(labels, fraction, seed);
    EXPECT_TRUE(std::is_sorted(split.train.begin(), split.train.end()));
    EXPECT_TRUE(std::is_sorted(split.validation.begin(), split.validation.end()));
    EXPECT_EQ(split.validation.size(),
              static_cast<std::size_t>(std::llround(fraction * static_cast<double>(labels.size()))));
    std::vector<std::int64_t> all = split.train;
    all.insert(all.end(), split.validation.begin(), split.validation.end());
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all.size(), labels.size());
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<std::int64_t>(i));
  }
}

TEST(StratifiedSplit, GivesEveryClassItsShareToWithinOne) {
  const std::vector<std::int32_t> labels = random_labels(997, 3);
  const SplitIndices split = stratified_split(labels, 0.15, 1);
  std::map<std::int32_t, double> size;
  std::map<std::int32_t, double> held_out;
  for (const std::int32_t label : labels) ++size[label];
  for (const std::int64_t index : split.validation) ++held_out[labels[static_cast<std::size_t>(index)]];
  for (const auto& [label, count] : size) {
    EXPECT_LT(std::abs(held_out[label] - count * static_cast<double>(split.validation.size()) / 997), 1)
        << label;
  }
}

TEST(StratifiedSplit, RoundsTheLargestRemaindersUp) {
  // Shares of 3 held out: 1.8, 0.9 and 0.3.
  const std::vector<std::int32_t> labels = {0, 0, 0, 0, 0, 0, 1, 1, 1, 2};
  const SplitIndices split = stratified_split(labels, 0.3, 5);
  std::map<std::int32_t, int> held_out;
  for (const std::int64_t index : split.validation) ++held_out[labels[static_cast<std::size_t>(index)]];
  EXPECT_EQ(held_out, (std::map<std::int32_t, int>{{0, 2}, {1, 1}}));
}

TEST(StratifiedSplit, DependsOnTheSeedAlone) {
  const std::vector<std::int32_t> labels = random_labels(200, 9);
  EXPECT_EQ(stratified_split(labels, 0.1, 4).validation, stratified_split(labels, 0.1, 4).validation);
  EXPECT_NE(stratified_split(labels, 0.1, 4).validation, stratified_split(labels, 0.1, 5).validation);
}

TEST(StratifiedSplit, WithAShareOfZeroKeepsAllForTraining) {
  const std::vector<std::int32_t> labels = {0, 1, 2};
  const SplitIndices split = stratified_split(labels, 0, 1);
  EXPECT_TRUE(split.validation.empty());
  EXPECT_EQ(split.train.size(), 3u);
}

TEST(StratifiedSplit, RefusesSharesThatLeaveAPartEmpty) {
  const std::vector<std::int32_t> labels = {0, 1, 2};
  const auto error = [&](double fraction) {
    return user_error_of([&] { stratified_split(labels, fraction, 1); });
  };
  EXPECT_EQ(error(0.01), "validation: a share of 0.010000 of 3 samples leaves the validation set empty");
  EXPECT_EQ(error(0.99), "validation: a share of 0.990000 of 3 samples leaves the training set empty");
  EXPECT_EQ(error(1), "validation: expected a share of the training set from 0 to below 1, got 1.000000");
  EXPECT_EQ(error(std::nan("")),
            "validation: expected a share of the training set from 0 to below 1, got nan");
}

TEST(StratifiedPart, IsStratifiedNestedFixedAndPartOfWhatItIsTakenFrom) {
  const std::vector<std::int32_t> labels = random_labels(3000, 7);
  const SplitIndices split = stratified_split(labels, 0.4, 3);
  std::map<std::int32_t, double> held_out;
  for (const std::int64_t index : split.validation) ++held_out[labels[static_cast<std::size_t>(index)]];
  std::vector<std::int64_t> before;
  for (const std::size_t count : {1U, 10U, 100U, 777U, 1200U, 5000U}) {
    const std::vector<std::int64_t> part = stratified_part(labels, split.validation, count, 3);
    EXPECT_EQ(part, stratified_part(labels, split.validation, count, 3));
    ASSERT_EQ(part.size(), std::min(count, split.validation.size()));
    EXPECT_TRUE(std::is_sorted(part.begin(), part.end()));
    EXPECT_TRUE(std::includes(split.validation.begin(), split.validation.end(), part.begin(), part.end()));
    EXPECT_TRUE(std::includes(part.begin(), part.end(), before.begin(), before.end()));
    std::map<std::int32_t, double> counts;
    for (const std::int64_t index : part) ++counts[labels[static_cast<std::size_t>(index)]];
    const double share = static_cast<double>(part.size()) / static_cast<double>(split.validation.size());
    for (const auto& [label, all] : held_out) EXPECT_NEAR(counts[label], share * all, 2) << count;
    before = part;
  }
  EXPECT_EQ(before, split.validation);
  EXPECT_NE(stratified_part(labels, split.validation, 100, 3),
            stratified_part(labels, split.validation, 100, 4));
}

TEST(DatasetSplit, UsesTheStoredValidationSetUnlessAShareIsAskedFor) {
  const skyline::testing::ScratchFolder folder;
  DatasetContents contents = skyline::testing::sample_contents();
  contents.validation = skyline::testing::sample_images(9, contents.shape, 3);
  write_dataset(folder / "set.h5", contents);
  const auto dataset = Dataset::open(folder / "set.h5", false);
  const SplitIndices stored = split_dataset(*dataset, std::nullopt, 3, 1);
  EXPECT_TRUE(stored.stored);
  EXPECT_EQ(stored.train.size(), 30u);
  EXPECT_EQ(stored.validation.size(), 9u);
  EXPECT_EQ(stored.scored.size(), 3u);
  const SplitIndices held_out = split_dataset(*dataset, 0.2, std::nullopt, 1);
  EXPECT_FALSE(held_out.stored);
  EXPECT_EQ(held_out.validation, stratified_split(dataset->train().classes(), 0.2, 1).validation);
}

TEST(DatasetSplit, HoldsOutAPlainShareWhereTargetsAreNoClasses) {
  const skyline::testing::ScratchFolder folder;
  DatasetContents contents = skyline::testing::sample_table(TargetKind::kNumbers);
  contents.validation = {};
  write_dataset(folder / "set.h5", contents);
  const auto dataset = Dataset::open(folder / "set.h5", false);
  const SplitIndices split = split_dataset(*dataset, std::nullopt, std::nullopt, 1);
  EXPECT_EQ(split.train.size(), 18u);
  EXPECT_EQ(split.validation.size(), 2u);
  EXPECT_NE(split.validation, split_dataset(*dataset, std::nullopt, std::nullopt, 2).validation);
}

TEST(DatasetSplit, NeverDividesAGroup) {
  const skyline::testing::ScratchFolder folder;
  DatasetContents contents = skyline::testing::sample_contents();
  for (std::int32_t i = 0; i < 30; ++i) contents.train.groups.push_back(i / 3);
  write_dataset(folder / "set.h5", contents);
  const auto dataset = Dataset::open(folder / "set.h5", true);
  const auto groups_of = [&](const std::vector<std::int64_t>& indices) {
    std::set<std::int32_t> groups;
    for (const std::int64_t index : indices)
      groups.insert(dataset->train().groups[static_cast<std::size_t>(index)]);
    return groups;
  };
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    const SplitIndices split = split_dataset(*dataset, 0.2, 4, seed);
    EXPECT_EQ(split.validation.size(), 6u);
    EXPECT_EQ(split.train.size(), 24u);
    EXPECT_EQ(split.scored.size(), 4u);
    EXPECT_EQ(groups_of(split.validation).size() + groups_of(split.train).size(), 10u);
    EXPECT_EQ(split.validation, split_dataset(*dataset, 0.2, 4, seed).validation);
  }
  EXPECT_NE(split_dataset(*dataset, 0.2, 4, 1).validation, split_dataset(*dataset, 0.2, 4, 2).validation);
  EXPECT_TRUE(split_dataset(*dataset, 0, {}, 1).validation.empty());
  contents.train.groups.assign(30, 7);
  write_dataset(folder / "one.h5", contents);
  const auto one = Dataset::open(folder / "one.h5", true);
  EXPECT_EQ(user_error_of([&] { split_dataset(*one, 0.2, {}, 1); }),
            "groups: expected at least 2, one for each part, got 1");
}

}  // namespace
}  // namespace skyline::store
