#include "store/fixtures/import_tables.hpp"
#include "support/user_error_of.hpp"

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(ImportTables, APreparationIsLearnedFromTrainingSamplesAlone) {
  std::string rows = "a,near,stamp,label,price\n";
  for (int i = 0; i < 10; ++i) {
    const bool last = i >= 8;
    rows += (last     ? "1000"
             : i == 3 ? ""
                      : std::to_string(i)) +
            std::string(last ? ",lake," : ",bay,") + (last ? "5" : "1600000000." + std::to_string(i)) +
            ",1," + (last ? "1e6" : std::to_string(i)) + "\n";
  }
  write("train.csv", rows);
  const auto imported = import(
      {"train.csv"}, {{"split", "last"}, {"drop", "label"}, {"label", "price"}, {"targets", "numbers"}});
  const Preparation preparation = imported.preparation();
  EXPECT_EQ(preparation.features[0].missing, 4);  // of 0, 1, 2, 4, 5, 6, 7
  EXPECT_THAT(names_of(imported), ElementsAre("a", "a is missing", "near = bay", "stamp"));
  EXPECT_EQ(preparation.features[3].subtract, 1600000000.0);
  EXPECT_EQ(preparation.targets.front().mean, 3.5);
  EXPECT_NEAR(std::get<2>(imported.set->test().targets).front(),
              (1e6 - 3.5) / preparation.targets.front().deviation, 1);
  // What only the test set lacks has a median all the same, and a column that training samples lack is left
  // out.
  write("train.csv", "a,b,label\n1,,0.5\n3,,0.5\n5,,1.5\n7,2,2.5\n,2,2.5\n");
  const auto sparse = import({"train.csv"}, {{"split", "last"}, {"test", "0.4"}});
  EXPECT_THAT(names_of(sparse), ElementsAre("a", "a is missing"));
  EXPECT_EQ(sparse.preparation().features[0].missing, 3);
  EXPECT_THAT(sparse.notes, Contains("`b` is empty where training samples are: it is left out"));
}

TEST_F(ImportTables, TrueAndFalseAreNumbers) {
  write("train.csv", "a,b,label\nTrue,1,x\nFALSE,0,y\n");
  EXPECT_THAT(import({"train.csv"}, all).set->train().pixels(), ElementsAre(1, 1, 0, 0));
}

TEST_F(ImportTables, MissingNumbersAreFilledInAndMarked) {
  write("train.csv", "a,b,label\n1,5,x\n?,5,y\n4,5,x\nNA,5,x\n2.5,5,y\n");
  auto imported = import({"train.csv"}, all);
  EXPECT_THAT(names_of(imported), ElementsAre("a", "a is missing", "b"));
  EXPECT_THAT(values_of(imported), ElementsAre(1, 0, 5, 2.5F, 1, 5, 4, 0, 5, 2.5F, 1, 5, 2.5F, 0, 5));
  EXPECT_THAT(imported.notes,
              AllOf(Contains("`a`: 2 values missing: the median, 2.5, and a feature that says so "
                             "(--missing)"),
                    Contains(HasSubstr("check: 1 column always the same: `b`"))));
  imported = import({"train.csv"}, {{"test", "0"}, {"missing", "-1"}});
  EXPECT_EQ(values_of(imported)[3], -1);
  EXPECT_THAT(error({"train.csv"}, {{"missing", "refuse"}}),
              HasSubstr("`a`: 2 values missing (--missing fills"));
  EXPECT_THAT(error({"train.csv"}, {{"missing", "mean"}}),
              HasSubstr("expected `median`, `refuse` or a number"));
  write("test.csv", "a,b,label\n,1,x\n");
  EXPECT_THAT(std::get<1>(import({"train.csv", "test.csv"}).set->test().values), ElementsAre(2.5F, 1, 1));
  write("test.csv", "a,b,label\n1,,x\n");
  EXPECT_THAT(
      error({"train.csv", "test.csv"}),
      HasSubstr("test.csv:2: `b`: expected a number, got ``: a missing value, where the training data have "
                "none"));
}

TEST_F(ImportTables, WordsAreCategories) {
  write("train.csv", "a,near,label\n1,bay,x\n2,sea,y\n3,bay,x\n4,inland,x\n5,bay,x\n6,inland,x\n");
  auto imported = import({"train.csv"}, {{"test", "0"}, {"most-categories", "2"}});
  EXPECT_THAT(names_of(imported), ElementsAre("a", "near = bay", "near = inland", "near = other"));
  const auto values = values_of(imported);
  EXPECT_THAT(std::vector(values.begin(), values.begin() + 8), ElementsAre(1, 1, 0, 0, 2, 0, 0, 1));
  EXPECT_THAT(imported.notes,
              Contains(HasSubstr("`near` has 3 different words: a feature for each of the 2 most "
                                 "frequent, and one for others (--drop, --most-categories)")));
  write("test.csv", "near,a,label\nmoon,7,x\n");
  imported = import({"train.csv", "test.csv"});
  EXPECT_THAT(std::get<1>(imported.set->test().values), ElementsAre(7, 0, 0, 0));
  imported = import({"train.csv"}, {{"test", "0"}, {"categories", "a"}});
  EXPECT_THAT(names_of(imported), Contains("a = 6"));
}

TEST_F(ImportTables, NumbersAreScaledAndOtherPartsAlike) {
  write("train.csv", "f,price\n1,100.5\n2,300.5\n");
  write("test.csv", "price,f\n200.5,3\n");
  const auto imported = import({"train.csv", "test.csv"});
  EXPECT_THAT(std::get<2>(imported.set->train().targets), ElementsAre(-1, 1));
  EXPECT_THAT(std::get<2>(imported.set->test().targets), ElementsAre(0));
  EXPECT_THAT(imported.set->class_names(), ElementsAre("price"));
}

TEST_F(ImportTables, WhatFloatsWouldMergeIsCentredInDouble) {
  std::string rows = "stamp,huge,a,label\n";
  for (int i = 0; i < 40; ++i) {
    rows += "160000000" + std::to_string(i % 2) + "." + std::to_string(100 + i) + ",1e30," +
            std::to_string(i * 37 % 100) + ".5," + std::to_string(i % 2) + "\n";
  }
  write("train.csv", rows);
  const auto imported = import({"train.csv"}, all);
  EXPECT_EQ(imported.preparation().features.front().subtract, 1600000000.1);
  EXPECT_EQ(imported.preparation().features.back().subtract, 0);
  const auto values = values_of(imported);
  EXPECT_FLOAT_EQ(values[3], 1.001F);
  EXPECT_THAT(imported.notes,
              Contains("`stamp`: 1600000000.1 is subtracted: its 40 different values would be 1 in "
                       "float32"));
  write("train.csv", "a,b,label\n1,1e39,x\n2,1,y\n");
  EXPECT_THAT(error({"train.csv"}, all), HasSubstr("`b`: a number is too large for float32"));
}

TEST_F(ImportTables, ColumnsOfWideArraysAreCentredToo) {
  std::vector<double> stamps;
  for (int i = 0; i < 4; ++i) stamps.insert(stamps.end(), {1.6e9 + i * 0.25, static_cast<double>(i)});
  write_npz(folder / "set.npz", {{"x_train", npy("<f8", "4, 2", raw_bytes<double>(stamps))},
                                 {"y_train", npy("|u1", "4,", std::string("\0\1\0\1", 4))}});
  auto imported = import({"set.npz"}, all);
  EXPECT_THAT(values_of(imported), ElementsAre(0, 0, 0.25F, 1, 0.5F, 2, 0.75F, 3));
  EXPECT_EQ(imported.preparation().features.front().subtract, 1.6e9);
  EXPECT_THAT(imported.notes,
              Contains(HasSubstr("x_train: column 0: 1600000000 is subtracted: its 4 different "
                                 "values would be 1 in float32")));
  write_npz(folder / "set.npz", {{"x_train", npy("<f8", "2, 2", raw_bytes<double>({0.1, 1, 0.2, 2}))},
                                 {"y_train", npy("|u1", "2,", std::string("\0\1", 2))}});
  EXPECT_EQ(import({"set.npz"}, all).set->preparation(), "") << "floats tell these apart";
}

TEST_F(ImportTables, ArraysWhoseDifferentValuesFloatsMergeAreTold) {
  std::vector<double> times;
  for (int i = 0; i < 40; ++i) times.push_back(1.6e9 + i);
  const std::string y = npy("<i8", "4,", raw_bytes<std::int64_t>({0, 1, 0, 1}));
  write_pair(npy("<f8", "4, 10", raw_bytes(times)), y);
  EXPECT_THAT(
      import({"set.npz"}, {{"test", "0"}, {"layout", "nl"}}).notes,
      Contains(HasSubstr("set.npz: x_train: its 40 different values are 1 in float32 (subtract their mean")));
  write_pair(npy("|u1", "40, 1, 1, 1", std::string(40, 'x')), npy("<f8", "40,", raw_bytes(times)));
  EXPECT_THAT(
      import({"set.npz"}, {{"test", "0"}, {"targets", "numbers"}}).notes,
      Contains(HasSubstr("set.npz: y_train: its 40 different values are 1 in float32 (subtract their mean")));
  for (double& time : times) time -= 1.6e9;
  write_pair(npy("<f8", "4, 10", raw_bytes(times)), y);
  EXPECT_THAT(import({"set.npz"}, {{"test", "0"}, {"layout", "nl"}}).notes, IsEmpty());
}

TEST_F(ImportTables, PreparationsAreReadAsTheyAreWritten) {
  Preparation written;
  written.features = {{.column = "a \"b\"", .subtract = 1e9 + 0.1},
                      {.column = "c", .missing = 2.5},
                      {.column = "c", .is_missing = true},
                      {.column = "d", .is = ""},
                      {.column = "d", .is_not = {"", "x"}}};
  written.targets = {{"price", 3, 2}};
  written.left_out = {"", "n"};
  written.id = "id";
  const Preparation read = read_preparation(to_json(written));
  EXPECT_EQ(read.features, written.features);
  EXPECT_EQ(to_json(read), to_json(written));
  const std::string no_spread =
      R"({"has_names":true,"features":[],"targets":[{"column":"p","mean":1,"deviation":0}]})";
  const std::string deep = R"({"has_names":true,"features":)" + std::string(100'000, '[');
  for (const std::string& wrong : {std::string(), std::string("[]"), std::string("{}"),
                                   std::string("{\"has_names\":1,\"features\":[]}"), no_spread, deep})
    EXPECT_THAT(skyline::testing::user_error_of([&] { read_preparation(wrong); }),
                HasSubstr("expected a preparation"));
}

}  // namespace
}  // namespace skyline::store
