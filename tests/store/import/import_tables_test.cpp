#include "store/fixtures/import_tables.hpp"

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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
  write("val.csv", "a,b,c,label\n7,8,x,no\n");
  write("train.csv", "c,a,b,label\nx,1.5,2,no\ny,2.5,3,yes\n");
  write("test.csv", "a,c,b,label\n9,z,10,no\n");
  const auto dropped = import({"train.csv", "val.csv", "test.csv"}, {{"drop", "c"}});
  EXPECT_THAT(std::get<1>(dropped.set->validation().values), ElementsAre(7, 8));
  EXPECT_THAT(std::get<1>(dropped.set->test().values), ElementsAre(9, 10));
  write("train.csv", "a,b,label\n1.5,2,no\n2.5,3,yes\n");
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
            HasSubstr("(--drop=sold,name,size,price leaves them out)")));
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

TEST_F(ImportTables, NumbersThatCanHardlyBeClassesAreAskedAbout) {
  std::string rows = "f,price\n";
  for (int i = 0; i < 40; ++i) rows += std::to_string(i * 37 % 100) + ".5," + std::to_string(i % 20) + "\n";
  write("train.csv", rows);
  EXPECT_THAT(error({"train.csv"}),
              HasSubstr("`price`: 20 different whole numbers in 40 samples; as classes they "
                        "leave the test set empty: say --targets=numbers or --targets="
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

TEST_F(ImportTables, NumbersOfWhichSomeAreWordsAreAskedAbout) {
  const auto rows_with = [](const std::string& other) {
    std::string rows = "f,price\n";
    for (int i = 0; i < 40; ++i)
      rows += std::to_string(i * 37 % 100) + ".5," + (i == 6 ? other : std::to_string(i) + ".25") + "\n";
    return rows;
  };
  for (const std::string other : {"typo", "inf"}) {
    write("train.csv", rows_with(other));
    const std::string found = "39 of 40 values are numbers; line 8 has `" + other + "`";
    EXPECT_THAT(error({"train.csv"}),
                HasSubstr("`price`: " + found +
                          "; 40 different values in 40 samples, 40 of them once; as classes they leave the "
                          "test set empty: correct the table, or say --targets=classes, or name the label "
                          "by --label"));
    EXPECT_THAT(error({"train.csv"}, {{"targets", "numbers"}}),
                HasSubstr("expected numbers, got words: " + found));
    EXPECT_THAT(import({"train.csv"}, {{"targets", "classes"}}).notes,
                Contains("check: `price`: " + found + ": all are taken for words"));
  }
}

TEST_F(ImportTables, ASingleClassIsRefused) {
  write("train.csv", "f,kind\n1.5,a\n2.5,a\n");
  EXPECT_THAT(error({"train.csv"}, all), HasSubstr("`kind`: expected at least 2 classes, got `a` alone"));
  write_pair(npy("|u1", "2, 1", "ab"), npy("|u1", "2,", std::string(2, '\7')));
  EXPECT_THAT(error({"set.npz"}, all), HasSubstr("expected at least 2 classes, got `7` alone"));
}

TEST_F(ImportTables, ScaledNumbersAreJudgedAsTheyWereGiven) {
  write("train.csv", "f,price\n1.5,2.5\n2.5,2.5\n");
  EXPECT_THAT(import({"train.csv"}, all).notes, Not(Contains(HasSubstr("whole numbers"))));
  write("train.csv", "f,a,b\n1.5,7,10\n2.5,8,10\n3.5,8,30\n");
  EXPECT_THAT(import({"train.csv"}, {{"test", "0"}, {"label", "a,b"}}).notes,
              Contains(HasSubstr("all targets are whole numbers")));
}

TEST_F(ImportTables, WholeAndOneHotFloatsGetAHint) {
  write_pair(npy("|u1", "2, 1", "ab"), npy("<f4", "2, 2", raw_bytes<float>({0, 1, 1, 0})));
  EXPECT_THAT(import({"set.npz"}, all).notes,
              Contains(HasSubstr(
                  "each row of the targets has a single 1: if they are classes, say --targets=classes")));
  write_pair(npy("|u1", "2, 1", "ab"), npy("<f4", "2,", raw_bytes<float>({3, 1})));
  EXPECT_THAT(import({"set.npz"}, all).notes,
              Contains(HasSubstr("all targets are whole numbers: if they are classes")));
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

TEST_F(ImportTables, WordsForMissingAreClassesOnlyAmongOtherWords) {
  for (const std::string rows : {"1,2,none\n3,4,1\n5,6,2\n", "3,4,1\n1,2,none\n5,6,2\n"}) {
    write("train.csv", "a,b,label\n" + rows);
    EXPECT_THAT(
        error({"train.csv"}, all),
        HasSubstr(": `label`: the label is missing, or a class among numbers is called `none`, and needs "
                  "another name"))
        << rows;
  }
  for (const std::string rows : {"1,2,none\n3,4,yes\n5,6,2\n", "5,6,2\n1,2,none\n3,4,yes\n"}) {
    write("train.csv", "a,b,label\n" + rows);
    EXPECT_THAT(import({"train.csv"}, all).set->class_names(), Contains("none")) << rows;
  }
}

}  // namespace
}  // namespace skyline::store
