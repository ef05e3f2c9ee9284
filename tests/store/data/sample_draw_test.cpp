#include "store/data/sample_draw.hpp"

#include "support/user_error_of.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::user_error_of;
using ::testing::HasSubstr;
using ::testing::IsSubsetOf;

struct GroupedCase {
  std::vector<std::int32_t> labels;
  std::vector<std::int32_t> groups;

  /// Adds a group with some samples of a class.
  void add(std::int32_t group, std::int32_t label, std::size_t count) {
    labels.insert(labels.end(), count, label);
    groups.insert(groups.end(), count, group);
  }
  std::vector<Part> moved(const GroupDraw& draw, std::uint64_t seed) const {
    std::vector<Part> parts(labels.size(), Part::kTrain);
    RandomStream random(seed);
    move_groups({labels, groups}, draw, random, parts);
    return parts;
  }
  std::set<std::int32_t> groups_in(Part part, const std::vector<Part>& parts) const {
    std::set<std::int32_t> found;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (parts[i] == part) found.insert(groups[i]);
    }
    return found;
  }
};

TEST(MoveGroups, MovesWholeGroupsUpToTheShareOfEachClass) {
  GroupedCase given;
  for (std::int32_t group = 0; group < 40; ++group) given.add(group, group % 2, 20);
  std::set<std::set<std::int32_t>> choices;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Part> parts = given.moved({Part::kTest, 0.2, 1}, seed);
    const std::set<std::int32_t> moved = given.groups_in(Part::kTest, parts);
    EXPECT_EQ(moved.size(), 8u);
    EXPECT_EQ(given.groups_in(Part::kTrain, parts).size(), 32u);
    EXPECT_EQ(std::ranges::count_if(moved, [](std::int32_t group) { return group % 2 == 0; }), 4);
    EXPECT_EQ(parts, given.moved({Part::kTest, 0.2, 1}, seed));
    choices.insert(moved);
  }
  EXPECT_GT(choices.size(), 15u);
}

TEST(MoveGroups, OfUnequalSizesComesCloseToTheShare) {
  GroupedCase given;
  RandomStream random(5);
  for (std::int32_t group = 0; group < 60; ++group) {
    for (std::int32_t label = 0; label < 3; ++label) given.add(group, label, random.below(12));
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Part> parts = given.moved({Part::kValidation, 0.25, 1}, seed);
    const auto moved = std::ranges::count(parts, Part::kValidation);
    EXPECT_NEAR(static_cast<double>(moved), 0.25 * static_cast<double>(parts.size()), 33);  // a large group
  }
}

TEST(MoveGroups, MovesOneWhereNoneComesCloserAndTheLargestNever) {
  GroupedCase given;
  given.add(0, 0, 90);
  given.add(1, 0, 6);
  given.add(2, 0, 4);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_EQ(given.groups_in(Part::kTest, given.moved({Part::kTest, 0.01, 1}, seed)),
              (std::set<std::int32_t>{2}));
    EXPECT_THAT(given.groups_in(Part::kTest, given.moved({Part::kTest, 0.3, 1}, seed)),
                IsSubsetOf(std::set<std::int32_t>{1, 2}));
  }
}

TEST(MoveGroups, LeavesAsManyGroupsAsOtherPartsNeed) {
  GroupedCase given;
  for (std::int32_t group = 0; group < 4; ++group) given.add(group, 0, 5);
  EXPECT_EQ(given.groups_in(Part::kTrain, given.moved({Part::kTest, 0.9, 2}, 1)).size(), 2u);
}

TEST(MoveGroups, LeavesTheOnlyGroupOfAClassInTheTrainingSet) {
  GroupedCase given;
  for (std::int32_t group = 0; group < 10; ++group) given.add(group, 0, 10);
  given.add(10, 1, 10);
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_FALSE(given.groups_in(Part::kTest, given.moved({Part::kTest, 0.4, 1}, seed)).contains(10));
}

TEST(MoveGroups, RefusesTooFewGroupsAndGroupsThatAreTheClasses) {
  GroupedCase given;
  given.add(0, 0, 10);
  given.add(1, 1, 10);
  EXPECT_THAT(user_error_of([&] {
                given.moved({Part::kTest, 0.2, 2}, 1);
              }),
              HasSubstr("groups: expected at least 3, one for each part, got 2"));
  EXPECT_THAT(user_error_of([&] {
                given.moved({Part::kTest, 0.2, 1}, 1);
              }),
              HasSubstr("groups: none can be the test set, since each has all training samples of a class"));
}

}  // namespace
}  // namespace skyline::store
