#include "core/record.hpp"

#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline {
namespace {

using testing::ElementsAre;

struct Inner {
  std::string text;
};

template <typename Visitor>
void for_each_field(Inner& inner, Visitor& visit) {
  visit(inner.text);
}

struct Sample {
  std::string text;
  std::uint64_t number = 0;
  std::optional<double> seconds;
  std::vector<int> numbers;
  std::vector<std::string> texts;
  std::vector<bool> flags;
  std::optional<Inner> inner;
  std::shared_ptr<const Inner> shared;
  std::variant<std::int16_t, Inner> either;
};

template <typename Visitor>
void for_each_field(Sample& sample, Visitor& visit) {
  visit(sample.text, sample.number, sample.seconds, sample.numbers, sample.texts, sample.flags, sample.inner,
        sample.shared, sample.either);
}

/// Counts the objects that were made.
struct Counted {
  static inline int made = 0;
  Counted() { ++made; }
  std::string text;
};

template <typename Visitor>
void for_each_field(Counted& counted, Visitor& visit) {
  visit(counted.text);
}

TEST(Record, ReadsBackWhatWasWritten) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::string text("a b\n3 \0", 7);
  const Sample sample{text,
                      kMost,
                      2.5,
                      {1, -2},
                      {"", "1 x"},
                      {true, false, true},
                      Inner{"own"},
                      std::make_shared<Inner>(Inner{"shared"}),
                      Inner{"one of two"}};
  const auto read = from_record<Sample>(to_record(sample));
  EXPECT_EQ(read.text, text);
  EXPECT_EQ(read.number, kMost);
  EXPECT_EQ(read.seconds, 2.5);
  EXPECT_THAT(read.numbers, ElementsAre(1, -2));
  EXPECT_THAT(read.texts, ElementsAre("", "1 x"));
  EXPECT_THAT(read.flags, ElementsAre(true, false, true));
  EXPECT_EQ(read.inner.value().text, "own");
  EXPECT_EQ(read.shared->text, "shared");
  EXPECT_EQ(std::get<Inner>(read.either).text, "one of two");
}

TEST(Record, ReadsBackNumbersOfEachKind) {
  const std::vector<float> fractions{1.5F, -0.0F};
  EXPECT_EQ(from_record<std::vector<float>>(to_record(fractions)), fractions);
  for (const int number : {0, 1, -1, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
    EXPECT_EQ(from_record<int>(to_record(number)), number);
  }
}

TEST(Record, ReadsBackWhatIsEmpty) {
  const auto read = from_record<Sample>(to_record(Sample()));
  EXPECT_FALSE(read.seconds || read.inner || read.shared);
  EXPECT_EQ(std::get<std::int16_t>(read.either), 0);
}

TEST(Record, RefusesOneThatIsCutAnywhereOrTooLong) {
  const std::string record =
      to_record(Sample{"abc", 3, std::nullopt, {1, 2}, {"", "1 x"}, {true}, Inner{"x"}, {}, {}});
  for (std::size_t length = 0; length < record.size(); ++length) {
    EXPECT_THROW(from_record<Sample>(record.substr(0, length)), InternalError) << length;
  }
  EXPECT_THROW(from_record<Sample>(record + "x"), InternalError);
}

TEST(Record, RefusesNumbersAndAlternativesThatItsTypesLack) {
  using Either = std::variant<std::int16_t, Inner>;
  EXPECT_THROW(from_record<std::uint16_t>(to_record(std::uint32_t{1} << 16U)), InternalError);
  EXPECT_THROW(from_record<std::uint64_t>(std::string(11, '\xFF')), InternalError);
  EXPECT_THROW(from_record<Either>("\2"), InternalError);
}

TEST(Record, TakesNoMemoryForACountThatItCannotHold) {
  const std::string record = to_record(std::uint64_t{1} << 60) + "abc";
  EXPECT_THROW(from_record<std::string>(record), InternalError);
  EXPECT_THROW(from_record<std::vector<std::string>>(record), InternalError);
  EXPECT_THROW(from_record<std::vector<double>>("\3" + std::string(23, 'x')), InternalError);
}

TEST(Record, MakesNoElementsBeyondTheFirstDamagedOne) {
  const std::string record = to_record(std::uint64_t{1000}) + std::string(1000, '\xFF');
  Counted::made = 0;
  EXPECT_THROW(from_record<std::vector<Counted>>(record), InternalError);
  EXPECT_EQ(Counted::made, 1);
}

}  // namespace
}  // namespace skyline
