#include "engine/group_courses.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <string>

#include <gtest/gtest.h>

namespace skyline::testing {
namespace {

using trial::GroupAborted;
using trial::part_of;
using trial::TrialGroup;

std::vector<float> expected_sum(std::uint64_t operation, std::size_t members, std::size_t count) {
  std::vector<std::vector<float>> terms;
  for (std::size_t member = 0; member < members; ++member) {
    terms.push_back(values_of(operation, member, count));
  }
  return sum_of(std::move(terms));
}

template <typename T>
void expect_same_bits(std::span<const T> got, std::span<const T> expected, const char* what,
                      std::size_t size) {
  ASSERT_EQ(got.size(), expected.size());
  if (got.empty()) return;  // memcmp wants a place even for nothing
  EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size_bytes()), 0) << what << " of " << size;
}

/// Posted in order, waited for in another, tested in between.
void expect_right_sums(TrialGroup& group, std::uint64_t seed) {
  const std::vector<std::size_t> sizes{1, 140'001, 0, 17, 2100, 9000};
  std::vector<std::vector<float>> values;
  std::vector<std::unique_ptr<TrialGroup::Operation>> operations;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    values.push_back(values_of(seed + i, group.member(), sizes[i]));
  }
  for (auto& given : values) {
    operations.push_back(group.all_reduce(given));
    operations.front()->test();
  }
  for (const std::size_t i :
       {std::size_t{4}, std::size_t{0}, std::size_t{5}, std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
    operations[i]->wait();
    EXPECT_TRUE(operations[i]->test());
    expect_same_bits<float>(values[i], expected_sum(seed + i, group.members(), sizes[i]), "all_reduce",
                            sizes[i]);
  }
}

void expect_right_parts(TrialGroup& group, std::uint64_t seed, std::size_t size) {
  std::vector<float> values = values_of(seed, group.member(), size);
  const std::vector<float> sum = expected_sum(seed, group.members(), size);
  group.reduce_scatter(values)->wait();
  const auto mine = part_of(size, group.members(), group.member());
  expect_same_bits<float>(std::span(values).subspan(mine.begin, mine.end - mine.begin),
                          std::span(sum).subspan(mine.begin, mine.end - mine.begin), "reduce_scatter", size);
  group.all_gather(values)->wait();
  expect_same_bits<float>(values, sum, "all_gather", size);
}

void expect_right_numbers(TrialGroup& group, std::uint64_t seed) {
  std::vector<std::vector<double>> terms;
  for (std::size_t member = 0; member < group.members(); ++member) {
    const auto values = values_of(seed, member, 1300);
    terms.emplace_back(values.begin(), values.end());
  }
  std::vector<double> numbers = terms[group.member()];
  group.sum(numbers);
  expect_same_bits<double>(numbers, sum_of(terms), "sum", numbers.size());

  for (const std::size_t size : {std::size_t{3}, std::size_t{0}, std::size_t{500'001}}) {
    std::vector<std::byte> bytes(size, std::byte{static_cast<unsigned char>(group.member() + 1)});
    group.broadcast(bytes);
    EXPECT_EQ(bytes, std::vector<std::byte>(size, std::byte{1})) << size;
  }
}

/// One step a phase; the values of open operations go when it throws.
void run_abort_phases(TrialGroup& group, std::size_t who, int phase) {
  std::vector<float> large(100'000, 1);
  std::vector<float> small(10, 1);
  std::vector<std::unique_ptr<TrialGroup::Operation>> open;
  const auto reaches = [&](int here) {
    if (group.member() == who && phase == here) {
      group.abort({trial::FailureKind::kOutOfMemory,
                   "member " + std::to_string(who) + " gives up in phase " + std::to_string(here)});
    }
    return group.member() == who && phase == here;
  };
  if (reaches(0)) return;
  open.push_back(group.all_reduce(large));
  if (reaches(1)) return;
  open.push_back(group.all_reduce(small));
  open.front()->test();
  if (reaches(2)) return;
  for (auto& operation : open) operation->wait();
  if (reaches(3)) return;
  std::array<double, 2> numbers{};
  group.sum(numbers);
  open.push_back(group.reduce_scatter(large));
  if (reaches(4)) return;
  // The one that gives up may have done its part of all this: more comes.
  while (true) {
    group.sum(numbers);
    group.broadcast(std::as_writable_bytes(std::span(numbers)));
  }
}

}  // namespace

std::vector<engine::GroupPlace> spreads_of(std::size_t members, int most_ranks) {
  std::vector<engine::GroupPlace> spreads;
  for (std::size_t block = std::bit_ceil(members);; block /= 2) {
    const auto ranks = static_cast<int>((members + block - 1) / block);
    if (ranks > most_ranks) break;
    spreads.push_back({0, members, 0, ranks});
    if (block == 1) break;
  }
  return spreads;
}

std::vector<float> values_of(std::uint64_t operation, std::size_t member, std::size_t count) {
  RandomStream random(derive_seed(operation, "values", {member}));
  std::vector<float> values(count);
  for (float& value : values) {
    const auto exponent = static_cast<int>(random.below(8)) == 0 ? -140 : static_cast<int>(random.below(30));
    value = std::ldexp(static_cast<float>(random.uniform() - 0.5), exponent);
  }
  return values;
}

void expect_right_results(TrialGroup& group, std::uint64_t seed) {
  expect_right_sums(group, seed);
  expect_right_parts(group, seed + 10, 100);
  expect_right_numbers(group, seed + 20);
  expect_right_parts(group, seed + 30, 300'000 / group.members());  // parts of several pieces, if of few
}

void expect_told_of_abort(TrialGroup& group, std::size_t who, int phase) {
  try {
    run_abort_phases(group, who, phase);
    EXPECT_EQ(group.member(), who);
  } catch (const GroupAborted& aborted) {
    EXPECT_NE(group.member(), who);
    EXPECT_EQ(aborted.failure().kind, trial::FailureKind::kOutOfMemory);
    EXPECT_EQ(aborted.failure().reason,
              "member " + std::to_string(who) + " gives up in phase " + std::to_string(phase));
  }
  EXPECT_THROW(group.check(), GroupAborted);
}

}  // namespace skyline::testing
