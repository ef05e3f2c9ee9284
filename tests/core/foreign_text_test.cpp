#include "core/text/foreign_text.hpp"

#include <gtest/gtest.h>

namespace skyline {
namespace {

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + "1" + std::string(levels, ']');
}

TEST(Printable, LeavesTextOfAllLanguagesAsItIs) {
  const std::string text = "layer `conv2d`: größer als 5 µs · 学习 🙂";
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(printable("a\x1b[2J\x1b]0;title\x07"
                      "b\r\n\t\x7f"),
            R"(a\x1b[2J\x1b]0;title\x07b\x0d\x0a\x09\x7f)");
  EXPECT_EQ(printable(std::string_view("\0", 1)), R"(\x00)");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            R"(\xc2\x9b31m)");  // the control sequence introducer as one character
}

TEST(Printable, ShowsMarksThatTurnTheDirectionOfText) {
  EXPECT_EQ(printable("a\u202egpj.exe\u2066\u2069"), R"(a\xe2\x80\xaegpj.exe\xe2\x81\xa6\xe2\x81\xa9)");
  EXPECT_EQ(printable("\u2029\u202f\u2065\u206a שלום"), "\u2029\u202f\u2065\u206a שלום");
}

TEST(Printable, ShowsBytesThatAreNoText) {
  EXPECT_EQ(printable("\x9b"
                      "31m \xff \xe5\xad"),
            R"(\x9b31m \xff \xe5\xad)");
  EXPECT_EQ(printable("\xc3"
                      "a"),
            R"(\xc3a)");
}

TEST(Shortened, LeavesShortTextsAndCutsLongOnesBetweenCharacters) {
  EXPECT_EQ(shortened("width"), "width");
  EXPECT_EQ(shortened(std::string(60, 'x')), std::string(60, 'x'));
  EXPECT_EQ(shortened(std::string(61, 'x')), std::string(57, 'x') + "...");
  EXPECT_EQ(shortened("größer", 6), "gr...");
  EXPECT_EQ(shortened("two\nlines"), "two lines");
  EXPECT_EQ(in_quotes("width"), "`width`");
}

TEST(Printable, KeepsTheControlCharactersThatTheCallerWants) {
  EXPECT_EQ(printable("a\n\x1b[1mb\n", "\n"), "a\n\\x1b[1mb\n");
}

TEST(InShell, PutsAWordInQuotesOnlyIfAShellWouldReadItOtherwise) {
  EXPECT_EQ(in_shell("runs/a-1/config.yaml"), "runs/a-1/config.yaml");
  EXPECT_EQ(in_shell("my runs/$1"), "'my runs/$1'");
  EXPECT_EQ(in_shell("it's"), R"('it'\''s')");
  EXPECT_EQ(in_shell(""), "''");
}

TEST(ShallowJson, LeavesATextOfUpTo100LevelsAsItIs) {
  for (const std::string& text : {std::string(), std::string(R"({"a": [1, {"b": "x"}]})"), nested(100)}) {
    EXPECT_EQ(shallow_json(text), text);
  }
}

TEST(ShallowJson, EmptiesADeeperOne) {
  EXPECT_EQ(shallow_json(nested(101)), "");
  EXPECT_EQ(shallow_json(R"({"where": )" + nested(2'000'000) + "}"), "");
}

TEST(ShallowJson, CountsNoBracketsOfTexts) {
  const std::string brackets(200, '[');
  const std::string text = R"({"a": ")" + brackets + R"(\"{", "b\\": []})";
  EXPECT_EQ(shallow_json(text), text);
  EXPECT_EQ(shallow_json(R"({"a\\": )" + brackets), "");
}

}  // namespace
}  // namespace skyline
