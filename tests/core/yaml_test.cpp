#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "support/user_error_of.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline {
namespace {

using testing::user_error_of;

std::string error_of(const std::string& text) {
  return user_error_of([&] { (void)load_yaml_text(text, "a.yaml"); });
}

TEST(Yaml, GivesEveryNodeItsPlaceAndPath) {
  const ConfigNode root = load_yaml_text("search:\n  iterations: 5\n  names: [a, b]\n", "a.yaml");
  const ConfigNode& iterations = root.at("search").at("iterations");
  EXPECT_EQ(iterations.position().line, 2);
  EXPECT_EQ(iterations.path(), "search.iterations");
  EXPECT_EQ(root.at("search").at("names").items()[1].path(), "search.names[1]");
}

TEST(Yaml, RefusesAKeyThatStandsTwice) {
  EXPECT_EQ(error_of("search:\n  iterations: 5\n  iterations: 6\n"),
            "a.yaml:3:3: key `iterations` is given a second time");
}

TEST(Yaml, NamesTheLineOfBrokenYaml) {
  const std::string lacks = ", or a text with brackets, such as \"{trial}.pt\", its quotes";
  EXPECT_EQ(error_of("search:\n  iterations: [1, 2\nspace: 3\n"),
            "a.yaml:3:6: not valid YAML: a list lacks its `]`" + lacks);
  EXPECT_EQ(error_of("run: [train, {trial}.pt, 3]\n"),
            "a.yaml:1:21: not valid YAML: a list lacks its `]`" + lacks);
  EXPECT_EQ(error_of("run: {train: {trial}.pt}\n"),
            "a.yaml:1:21: not valid YAML: a map lacks its `}`" + lacks);
  EXPECT_THAT(error_of("search: a: b\n"),
              ::testing::StartsWith("a.yaml:1:10: not valid YAML: illegal map value"));
}

TEST(Yaml, NamesATabThatIndentsAndASecondDocument) {
  EXPECT_EQ(error_of("search:\n\titerations: 5\n"),
            "a.yaml:2:1: a tab at the start of a line: indent by blanks");
  EXPECT_EQ(error_of("a: 1\n---\nb: 2\n"), "a.yaml:3:1: a second document begins here: expected one");
  EXPECT_EQ(error_of("---\na: 1\n...\n"), "(nothing was thrown)");
  EXPECT_TRUE(load_yaml_text("", "a.yaml").is_null());
}

TEST(Yaml, RefusesNestingWithoutEnd) {
  EXPECT_THAT(error_of(std::string(150, '[') + std::string(150, ']')), ::testing::HasSubstr("100 levels"));
}

TEST(Yaml, RefusesAShortTextWhoseAliasesMakeAnEnormousTree) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int level = 1; level < 9; ++level) {
    const std::string inner = "*a" + std::to_string(level - 1);
    text += "a" + std::to_string(level) + ": &a" + std::to_string(level) + " [" + inner;
    for (int i = 1; i < 9; ++i) text += ", " + inner;
    text += "]\n";
  }
  EXPECT_THAT(error_of(text), ::testing::HasSubstr("more than 1,000,000 values"));
  EXPECT_EQ(load_yaml_text("a: &a [1, 2]\nb: *a\n", "a.yaml").at("b").items().size(), 2U);
}

TEST(Yaml, RefusesAliasesThatRepeatALongText) {
  std::string text = "a: &a " + std::string(100'000, 'x') + "\nb: [*a";
  for (int i = 0; i < 50; ++i) text += ", *a";
  EXPECT_EQ(error_of(text + "]\n"),
            "a.yaml:1:4: more than 4 MiB of text, counted where aliases (*name) repeat it");
}

TEST(Yaml, RefusesPathsThatWouldFillTheMemory) {
  const std::string key(1'000, 'k');
  EXPECT_EQ(load_yaml_text(key + ": 1\n", "a.yaml").at(key).as_integer(), 1);
  EXPECT_EQ(error_of("k" + key + ": 1\n"), "a.yaml:1:1: expected a key of at most 1,000 letters");
  EXPECT_EQ(user_error_of([&] {
              ConfigNode root;
              apply_override(root, "k" + key + "=1");
            }),
            "--set: expected a key of at most 1,000 letters");
  std::string list = "1";
  for (int i = 1; i < 50'000; ++i) list += ",1";
  EXPECT_THAT(error_of(key + ": {" + key + ": {" + key + ": [" + list + "]}}"),
              ::testing::EndsWith(": too many values stand below long keys"));
}

TEST(Yaml, AnOverrideIsAPlaceWithoutLines) {
  ConfigNode root = load_yaml_text("search: {iterations: 5}\n", "a.yaml");
  const auto error = [&](const std::string& assignment) {
    return user_error_of([&] {
      apply_override(root, assignment);
      (void)root.at("search").at("iterations").as_integer();
    });
  };
  EXPECT_EQ(error("search.iterations=many"),
            "--set search.iterations: search.iterations: expected a whole number, got many");
  EXPECT_THAT(error("search.iterations=[1"),
              ::testing::StartsWith("--set search.iterations: not valid YAML: "));
}

TEST(Yaml, MergeKeysAddWhatIsNotGiven) {
  const ConfigNode root = load_yaml_text(
      "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\none: {y: 5, <<: *a}\nboth: {<<: [*a, *b], w: 6}\nword: "
      "{\"<<\": 7}",
      "a.yaml");
  EXPECT_EQ(root.at("one").at("x").as_integer(), 1);
  EXPECT_EQ(root.at("one").at("y").as_integer(), 5);
  EXPECT_EQ(root.at("both").entries().size(), 4U);
  EXPECT_EQ(root.at("both").at("y").as_integer(), 2);
  EXPECT_EQ(root.at("both").at("z").as_integer(), 4);
  EXPECT_EQ(root.at("both").at("z").path(), "both.z");
  EXPECT_EQ(root.at("word").at("<<").as_integer(), 7);
  EXPECT_EQ(error_of("a: {<<: 3}"), "a.yaml:1:5: expected a map, or a list of maps, to merge (<<)");
}

TEST(Yaml, AnOverrideReplacesOrAddsASetting) {
  ConfigNode root = load_yaml_text("search: {iterations: 5}\n", "a.yaml");
  apply_override(root, "search.iterations=3");
  apply_override(root, "final.epochs=2.5");
  EXPECT_EQ(root.at("search").at("iterations").as_integer(), 3);
  EXPECT_DOUBLE_EQ(root.at("final").at("epochs").as_number(), 2.5);
}

TEST(Yaml, AnOverrideWithoutAValueSaysWhatIsExpected) {
  ConfigNode root = load_yaml_text("search: {iterations: 5}\n", "a.yaml");
  try {
    apply_override(root, "search.iterations");
    FAIL() << "accepted";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "--set search.iterations: expected key=value, e.g. search.iterations=3");
  }
}

TEST(Yaml, TextOfATreeReadsBackToTheSameTree) {
  const std::string text =
      "a: {b: 1e-4, c: \"12\", d: [1, 2.5, x]}\nlist:\n  - relu\n  - conv2d: {channels: $width * 2}\n  - "
      "repeat: $n\n"
      "    body: [relu]\nempty: {}\nnothing: ~\nodd: \"a: b # c\"\n";
  const ConfigNode root = load_yaml_text(text, "a.yaml");
  const ConfigNode again = load_yaml_text(to_yaml(root), "b.yaml");
  EXPECT_EQ(first_difference(root, again), "");
  EXPECT_EQ(to_yaml(root), to_yaml(again));
  EXPECT_TRUE(again.at("a").at("c").quoted());
}

}  // namespace
}  // namespace skyline
