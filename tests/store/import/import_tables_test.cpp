#include "store/arrays/preparation.hpp"
#include "store/fixtures/array_files.hpp"

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ImportTables : public ImportArrays {
 protected:
  struct Import {
    std::shared_ptr<const Dataset> set;
    std::vector<std::string> notes;
    Preparation preparation() const { return read_preparation(set->preparation()); }
  };
  Import import(const std::vector<std::string>& names, const Options& options = {}) const {
    std::vector<std::filesystem::path> paths;
    for (const std::string& name : names) paths.push_back(folder / name);
    Import imported;
    imported.set = skyline::testing::prepared("arrays", paths, out / "set.h5", options, 1, &imported.notes);
    return imported;
  }
  static std::vector<std::string> names_of(const Import& imported) {
    std::vector<std::string> names;
    for (const Feature& feature : imported.preparation().features) names.push_back(feature.name());
    return names;
  }
  static std::vector<float> values_of(const Import& imported) {
    const auto values = std::get<1>(imported.set->train().values);
    return {values.begin(), values.end()};
  }
  const Options all{{"test", "0"}};
};

TEST_F(ImportTables, ATableWithoutTargetsOfItsOwnKindKeepsNoPreparation) {
  write_pair(kTwoImages, kTwoLabels);
  EXPECT_EQ(import({"set.npz"}, all).set->preparation(), "");
}

TEST_F(ImportTables, ColumnsKeepTheirNamesAndTheLabelIsFoundByItsName) {
  for (const char* name : {"label", "Class", "TARGET", "y"}) {
    write("train.csv", std::string(name) + ",width,height\na,1.5,2\nb,2.5,3\n");
    const auto imported = import({"train.csv"}, all);
    EXPECT_THAT(names_of(imported), ElementsAre("width", "height"));
    EXPECT_EQ(imported.preparation().targets.front().column, name);
    EXPECT_THAT(imported.set->class_names(), ElementsAre("a", "b"));
    EXPECT_THAT(imported.notes,
                Contains(HasSubstr("label: `" + std::string(name) + "`, by its name (--label")));
  }
  write("train.csv", "width,height,kind\n1.5,2,a\n2.5,3,b\n");
  EXPECT_THAT(import({"train.csv"}, all).notes, Contains(HasSubstr("label: `kind`, the last one (--label")));
  write("train.csv", "1.5,2,a\n2.5,3,b\n");
  EXPECT_THAT(import({"train.csv"}, all).notes,
              Contains(HasSubstr("label: column 3, the last one, since columns have no names (--label")));
  write("train.csv", "y,label,x\n1.5,a,3\n2.5,b,3\n");
  EXPECT_THAT(error({"train.csv"}, all),
              HasSubstr("train.csv:1: `y` and `label` may both be the label: name it by --label"));
  write("train.csv", "a,b,a,label\n1,2,3,4\n");
  EXPECT_THAT(error({"train.csv"}, all), HasSubstr("train.csv:1: two columns are called `a`"));
}

TEST_F(ImportTables, YearsAndNumbersMayBeNamesOfColumns) {
  write("train.csv", "2019,2020,label\n1.5,2,a\n2.5,3,b\n");
  EXPECT_THAT(names_of(import({"train.csv"}, all)), ElementsAre("2019", "2020"));
  write("train.csv", "town,2019,2020,kind\nx,1.5,2,a\nx,2.5,3,b\n");
  EXPECT_THAT(error({"train.csv"}, {{"test", "0"}, {"drop", "twon"}}), HasSubstr("--drop: no column `twon`"));
}

TEST_F(ImportTables, OtherPartsAreMatchedByName) {
  write("train.csv", "a,b,label\n1.5,2,no\n2.5,3,yes\n");
  write("test.csv", ",b,label,a\n0,20,yes,10\n1,30,no,15\n");
  const auto imported = import({"test.csv", "train.csv"});
  EXPECT_THAT(std::get<1>(imported.set->test().values), ElementsAre(10, 20, 15, 30));
  EXPECT_THAT(imported.set->test().classes(), ElementsAre(1, 0));
  write("test.csv", "a,c,d,label\n1,2,3,no\n");
  EXPECT_THAT(
      error({"train.csv", "test.csv"}),
      HasSubstr("test.csv:1: the columns are not those of the training data: missing `b`; unknown `c`, `d` "
                "(--drop leaves columns out)"));
  write("test.csv", "1,2,no\n");
  EXPECT_THAT(error({"train.csv", "test.csv"}), HasSubstr("test.csv:1: the columns have no names"));
}

TEST_F(ImportTables, ColumnsWithoutANameThatNumberTheRowsAreLeftOut) {
  for (const char* rows :
       {",a,label\n0,1.5,x\n1,2.5,y\n", ",a,label\n7,1.5,x\n3,2.5,y\n",
        "Unnamed: 0,a,label\n0,1.5,x\n1,2.5,y\n", ",0,1,label\n0,1.5,1.5,x\n1,2.5,2.5,y\n"}) {
    write("train.csv", rows);
    const auto imported = import({"train.csv"}, all);
    EXPECT_THAT(names_of(imported), Not(Contains(HasSubstr("nnamed"))));
    EXPECT_THAT(imported.preparation().left_out, ::testing::SizeIs(1));
    EXPECT_THAT(imported.notes, Contains(HasSubstr("has no name: it is left out"))) << rows;
  }
  write("train.csv", ",a,label\n0.5,1.5,x\n1.5,2.5,y\n");
  EXPECT_EQ(error({"train.csv"}, all), (folder / "train.csv: column 1 has no name: give it one").string());
}

TEST_F(ImportTables, ColumnsThatLookLikeAnIndexAreToldAndMayBeDroppedOrNameSamples) {
  std::string rows = "PassengerId,a,when,label\n";
  for (int i = 0; i < 30; ++i) {
    rows += std::to_string(100 + i) + "," + std::to_string(i * 7 % 11) + ".5," + std::to_string(i * i) + "," +
            std::to_string(i % 2) + "\n";
  }
  write("train.csv", rows);
  EXPECT_THAT(import({"train.csv"}).notes,
              AllOf(Contains(HasSubstr("check: `PassengerId` looks like an index or an id")),
                    Contains(HasSubstr("check: `when` looks like an index")),
                    Not(Contains(HasSubstr("check: `a` looks like")))));
  const auto dropped = import({"train.csv"}, {{"drop", "PassengerId,3"}});
  EXPECT_THAT(names_of(dropped), ElementsAre("a"));
  EXPECT_THAT(dropped.preparation().left_out, ElementsAre("PassengerId", "when"));
  const auto named = import({"train.csv"}, {{"id", "PassengerId"}});
  EXPECT_THAT(names_of(named), ElementsAre("a", "when"));
  EXPECT_EQ(named.preparation().id, "PassengerId");
}

TEST_F(ImportTables, SamplesOfOneGroupStayInOnePartAndTheGroupIsNoFeature) {
  std::string rows = "patient,a,label\n";
  std::string others = "a,patient,label\n";
  for (int i = 0; i < 200; ++i) {
    rows += "p" + std::to_string(i % 40) + "," + std::to_string(i % 40) + ".5," +
            (i / 40 % 2 == 0 ? "x" : "y") + "\n";
    if (i < 9) others += "1,q" + std::to_string(i) + ",x\n";
  }
  write("train.csv", rows);
  const auto imported = import({"train.csv"}, {{"group", "patient"}});
  EXPECT_THAT(names_of(imported), ElementsAre("a"));
  EXPECT_THAT(imported.preparation().left_out, ElementsAre("patient"));
  EXPECT_THAT(imported.notes,
              Contains("groups: column `patient`, 40 groups; test set: 8 of them, 20 % of samples "
                       "(--group)"));
  EXPECT_THAT(imported.notes,
              Contains("about 20 % of the samples are the test set, in whole groups, drawn with seed 1 "
                       "(--test, --validation, --seed)"));
  const auto test = std::get<1>(imported.set->test().values);
  const auto train = std::get<1>(imported.set->train().values);
  EXPECT_EQ(test.size(), 40U);
  for (const float patient : test) EXPECT_EQ(std::ranges::find(train, patient), train.end());
  EXPECT_EQ(imported.set->train().groups.size(), 160U);
  EXPECT_TRUE(import({"train.csv"}, {{"drop", "patient"}}).set->train().groups.empty());
  write("test.csv", others);
  EXPECT_THAT(import({"train.csv", "test.csv"}, {{"group", "patient"}}).notes,
              Contains("groups: column `patient`, 40 groups (--group)"));
  write("test.csv", others + "1,p7,y\n");
  EXPECT_THAT(error({"train.csv", "test.csv"}, {{"group", "patient"}}),
              HasSubstr("test.csv: group_test: 1 of 10 groups are in the training set, too, e.g. `p7`"));
  write("test.csv", "a,label\n1,x\n2,y\n");
  EXPECT_THAT(import({"train.csv", "test.csv"}, {{"group", "patient"}}).notes,
              Contains(HasSubstr("the test set has no groups to compare")));
}

TEST_F(ImportTables, GroupsThatAreMissingOrAreTheLabelAreRefused) {
  write("train.csv", "patient,a,label\np1,1.5,x\n,2.5,y\n");
  EXPECT_THAT(error({"train.csv"}, {{"group", "patient"}}),
              HasSubstr("train.csv:3: `patient`: the group is missing"));
  EXPECT_THAT(error({"train.csv"}, {{"group", "person"}}), HasSubstr("--group: no column `person`"));
  EXPECT_THAT(error({"train.csv"}, {{"group", "patient,a"}}), HasSubstr("--group: expected one column"));
  EXPECT_THAT(error({"train.csv"}, {{"group", "label"}, {"label", "label"}}),
              HasSubstr("--label: `label` is the label, and another option names it, too"));
}

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

TEST_F(ImportTables, AllColumnsThatCannotBeReadAreNamedAtOnceWithTheCause) {
  write(
      "train.csv",
      "a,sold,name,size,price,label\n1,2020-03-01,Ann,5,\"1,200\",x\n2,2021-03-01 12:00,Bob,5 m,\"2,300\",y\n"
      "3,2022-03-01,Cy,6,\"1,400\",x\n");
  EXPECT_THAT(
      error({"train.csv"}, all),
      AllOf(HasSubstr("train.csv: `sold`: expected numbers or words, got dates, `2020-03-01` in line 2; "
                      "`name`: expected numbers or the words of some categories, got 3 different words, "
                      "`Ann` in line 2; `size`: expected a number, got `5 m` in line 3"),
            HasSubstr("`price`: expected a number, got `1,200` in line 2: a decimal comma, or thousands"),
            HasSubstr("(--drop sold,name,size,price leaves them out)")));
  const auto rest = import({"train.csv"}, {{"test", "0"}, {"drop", "sold,name,size,price"}});
  EXPECT_THAT(names_of(rest), ElementsAre("a"));
}

TEST_F(ImportTables, DatesAreKnownInManyForms) {
  for (const char* date : {"2024-03-01", "1.3.2024", "03/01/24 10:00", "2024-03-01T10:00:00Z", "1-Mar-24",
                           "01 March 2024", "\"Mar 1, 2024\"", "12:30", "12:30:59"}) {
    write("train.csv", "sold,a,label\n" + std::string(date) + ",1.5,x\n" + date + ",2.5,y\n");
    EXPECT_THAT(error({"train.csv"}, all), HasSubstr("`sold`: expected numbers or words, got dates, `"))
        << date;
  }
  for (const char* word : {"March", "may be 3", "1-2", "3 Marches 2024"}) {
    write("train.csv", "sold,a,label\n" + std::string(word) + ",1.5,x\n" + word + ",2.5,y\n");
    EXPECT_THAT(names_of(import({"train.csv"}, all)), ElementsAre("sold = " + std::string(word), "a"));
  }
}

TEST_F(ImportTables, TheTestSetOfTargetsThatAreNumbersIsAShareOfTheSamples) {
  std::string rows = "a,price\n";
  for (int i = 0; i < 10; ++i) rows += std::to_string(i * i) + "," + std::to_string(i * 7 % 10) + ".5\n";
  write("train.csv", rows);
  EXPECT_THAT(
      import({"train.csv"}).notes,
      Contains("20 % of the samples are the test set, drawn with seed 1 (--test, --validation, --seed)"));
}

TEST_F(ImportTables, SeveralColumnsMayBeTargets) {
  write("train.csv", "f,a,b\n1.5,1,0\n2.5,0,1\n3.5,1,1\n");
  auto imported = import({"train.csv"}, {{"test", "0"}, {"label", "b,a"}});
  EXPECT_THAT(imported.set->class_names(), ElementsAre("b", "a"));
  EXPECT_THAT(std::get<1>(imported.set->train().targets), ElementsAre(0, 1, 1, 0, 1, 1));
  write("train.csv", "f,a,b\n1.5,1,10\n2.5,3,30\n");
  imported = import({"train.csv"}, {{"test", "0"}, {"label", "a,b"}});
  EXPECT_THAT(std::get<2>(imported.set->train().targets), ElementsAre(-1, -1, 1, 1));
  EXPECT_EQ(imported.preparation().targets[1].mean, 20);
  EXPECT_EQ(imported.preparation().targets[1].deviation, 10);
  write("train.csv", "f,a,b\n1.5,1,0\n2.5,0,1\n3.5,1,0\n");
  imported = import({"train.csv"}, {{"test", "0"}, {"label", "a,b"}, {"targets", "classes"}});
  EXPECT_THAT(imported.set->class_names(), ElementsAre("a", "b"));
  EXPECT_THAT(imported.set->train().classes(), ElementsAre(0, 1, 0));
  write("train.csv", "f,a,b\n1.5,red,0\n2.5,0,1\n");
  EXPECT_THAT(error({"train.csv"}, {{"label", "a,b"}}),
              HasSubstr("train.csv:2: `a`: expected a number, as one of several targets, got `red`"));
}

TEST_F(ImportTables, NumbersAreScaledAndOtherPartsAlike) {
  write("train.csv", "f,price\n1,100.5\n2,300.5\n");
  write("test.csv", "price,f\n200.5,3\n");
  const auto imported = import({"train.csv", "test.csv"});
  EXPECT_THAT(std::get<2>(imported.set->train().targets), ElementsAre(-1, 1));
  EXPECT_THAT(std::get<2>(imported.set->test().targets), ElementsAre(0));
  EXPECT_THAT(imported.set->class_names(), ElementsAre("price"));
}

TEST_F(ImportTables, NumbersThatCanHardlyBeClassesAreAskedAbout) {
  std::string rows = "f,price\n";
  for (int i = 0; i < 40; ++i) rows += std::to_string(i * 37 % 100) + ".5," + std::to_string(i % 20) + "\n";
  write("train.csv", rows);
  EXPECT_THAT(error({"train.csv"}),
              HasSubstr("`price`: 20 different whole numbers in 40 samples; as classes they "
                        "leave the test set empty: say --targets numbers or --targets "
                        "classes, or name the label by --label"));
  EXPECT_EQ(import({"train.csv"}, {{"targets", "numbers"}}).set->train().target_kind(), TargetKind::kNumbers);
  EXPECT_EQ(import({"train.csv"}, {{"targets", "classes"}}).set->class_names().size(), 20U);
  rows = "f,grade\n";
  for (int i = 0; i < 40; ++i)
    rows += std::to_string(i * 37 % 100) + ".5," + std::to_string(i == 7 ? 9 : i % 2) + "\n";
  write("train.csv", rows);
  EXPECT_THAT(error({"train.csv"}),
              HasSubstr("`grade`: 3 different whole numbers in 40 samples, 1 of them once"));
}

TEST_F(ImportTables, WholeAndOneHotFloatsGetAHint) {
  write_pair(npy("|u1", "2, 1", "ab"), npy("<f4", "2, 2", raw_bytes<float>({0, 1, 1, 0})));
  EXPECT_THAT(import({"set.npz"}, all).notes,
              Contains(HasSubstr(
                  "each row of the targets has a single 1: if they are classes, say --targets classes")));
  write_pair(npy("|u1", "2, 1", "ab"), npy("<f4", "2,", raw_bytes<float>({3, 1})));
  EXPECT_THAT(import({"set.npz"}, all).notes,
              Contains(HasSubstr("all targets are whole numbers: if they are classes")));
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

TEST_F(ImportTables, TablesOfSpreadsheetsAreRead) {
  const auto reads = [this](const std::string& text) {
    write("train.csv", text);
    const auto imported = import({"train.csv"}, all);
    EXPECT_THAT(names_of(imported), ElementsAre("length, cm", "width")) << text;
    EXPECT_THAT(values_of(imported), ElementsAre(1.5F, 2, 2.5F, 3)) << text;
    EXPECT_THAT(imported.set->class_names(), ElementsAre("a", "b")) << text;
    return imported.notes;
  };
  const std::string commas = "\"length, cm\",width,kind\n1.5,2,a\n2.5,3,b\n";
  EXPECT_THAT(reads(commas), Not(Contains(HasSubstr("decimal"))));
  EXPECT_THAT(reads("\"length, cm\";width;kind\n1,5;2;a\n2,5;3;b\n"),
              Contains(HasSubstr("`;` separates fields, numbers have decimal commas")));
  reads("sep=;\r\n\"length, cm\";width;kind\r\n1.5;2;a\r\n2.5;3;b\r\n");
  reads("\"length, cm\"\twidth\tkind\r1.5\t2\ta\r2.5\t3\tb\r");
  reads("\"length, cm\"|width|kind\n1.5|2|a\n2.5|3|b");
  EXPECT_THAT(reads("\"length, cm\",width,kind,\n1.5,2,a,\n2.5,3,b,\n"),
              Contains(HasSubstr("an empty last column is left out")));
  reads("\"length, cm\",width,kind\n1.5,2,a,\n2.5,3,b,\n");
  std::string utf16 = "\xff\xfe";
  for (const char letter : commas) utf16 += {letter, '\0'};
  EXPECT_THAT(reads(utf16), Contains(HasSubstr("the text is UTF-16")));
  reads(utf16.substr(2));
  std::string big = "\xfe\xff";
  for (const char letter : commas) big += {'\0', letter};
  reads(big);
}

TEST_F(ImportTables, QuotedLineBreaksArePartsOfTheirField) {
  write("train.csv", "\"a\nb\",c,label\n1,2,\"x\r\ny\"\n3,4,z\n5,6\n");
  EXPECT_THAT(error({"train.csv"}, all), HasSubstr("train.csv:6: expected 3 columns, got 2"));
  write("train.csv", "a,b,label\n1,\"2,x\n3,4,y\n");
  EXPECT_THAT(error({"train.csv"}, all),
              HasSubstr("train.csv:2: a quote that begins in this row never ends"));
}

TEST_F(ImportTables, MissingLabelsAreRefused) {
  for (const char* label : {"", "nan", "?", "NaN"}) {
    for (const char* other : {"1", "word"}) {
      write("train.csv", std::string("a,b,label\n1,2,") + other + "\n3,4," + label + "\n");
      EXPECT_THAT(error({"train.csv"}, all), HasSubstr("train.csv:3: `label`: the label is missing"))
          << label;
    }
  }
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
