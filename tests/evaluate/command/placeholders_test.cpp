#include "evaluate/command/placeholders.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"

#include <gmock/gmock.h>

namespace skyline::evaluate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

TEST(Placeholders, StandInsideAnArgument) {
  EXPECT_THAT(placeholders_in("--epochs={epochs}/{lr}"), ElementsAre("epochs", "lr"));
  EXPECT_EQ(filled("--epochs={epochs}/{lr}", {{"epochs", "3"}, {"lr", "0.01"}}), "--epochs=3/0.01");
}

TEST(Placeholders, LeaveTextWithoutBracesAsItIs) {
  for (const char* text : {"", "a", "$HOME; $(rm)", "a}b", "-- \n"}) {
    EXPECT_THAT(placeholders_in(text), IsEmpty());
    EXPECT_EQ(filled(text, {}), text);
  }
}

TEST(Placeholders, WriteABraceAsTwo) {
  EXPECT_THAT(placeholders_in(R"({{"lr": {lr}})"), ElementsAre("lr"));
  EXPECT_EQ(filled(R"({{"lr": {lr}})", {{"lr", "0.1"}}), R"({"lr": 0.1})");
}

TEST(Placeholders, TakeValuesThatLookLikePlaceholdersOrArgumentsAsTheyAre) {
  EXPECT_EQ(filled("{a}{b}", {{"a", "{b} --x; `y`\n"}, {"b", "{{"}}), "{b} --x; `y`\n{{");
}

TEST(Placeholders, RefuseABraceThatBeginsNone) {
  for (const char* text : {"{", "a {", "{}", "{ a}", "{a-b}", "{1}", R"({"a": 1})"}) {
    EXPECT_THAT([&] { placeholders_in(text); }, ThrowsMessage<UserError>(HasSubstr("write {{ for a brace")))
        << text;
  }
}

/// Checks `[train, ARGUMENT]` for a space with the parameter lr.
void check(const std::string& argument, const CommandOptions& options = {}) {
  ConfigNode root = load_yaml_text("run: [train, \"" + argument + "\"]", "a.yaml");
  root.assign_paths();
  check_placeholders(root.at("run"), placeholder_names(options, {"lr", "seed"}));
}

TEST(Placeholders, NameParametersOfTheSpace) {
  EXPECT_NO_THROW(check("{lr}{epochs}{horizon}{parameters}{trial}{folder}{resumed}{data}{network}{cache}"));
}

TEST(Placeholders, AreRefusedWithTheirPlaceIfNobodyKnowsThem) {
  EXPECT_THAT([] { check("--epochs={epoch}"); },
              ThrowsMessage<UserError>("a.yaml:1:14: run[1]: `{epoch}` is unknown, did you mean `epochs`?"));
}

TEST(Placeholders, AreRefusedForAParameterThatMayBeNull) {
  ConfigNode root = load_yaml_text("run: [train, \"{depth}\"]", "a.yaml");
  root.assign_paths();
  PlaceholderNames names = placeholder_names({}, {"depth", "lr"});
  EXPECT_NO_THROW(check_placeholders(root.at("run"), names));
  names.nullable = {"depth"};
  EXPECT_THAT([&] { check_placeholders(root.at("run"), names); },
              ThrowsMessage<UserError>(
                  "a.yaml:1:14: run[1]: `{depth}` may be null, which an argument cannot say: give "
                  "the file {parameters}, or a text such as none in place of null"));
}

TEST(Placeholders, NameTheFolderOfAParentIfChildrenInherit) {
  EXPECT_THAT([] { check("{parent_folder}"); },
              ThrowsMessage<UserError>(HasSubstr("it needs `inherit: true`")));
  CommandOptions options;
  options.inherit = true;
  EXPECT_NO_THROW(check("{parent_folder}", options));
}

TEST(Placeholders, AreRefusedIfAParameterHasTheSameName) {
  EXPECT_THAT([] { check("{seed}"); }, ThrowsMessage<UserError>(HasSubstr("rename the parameter `seed`")));
}

TEST(Placeholders, OfGroupsDependOnWhatStarts) {
  CommandOptions options;
  EXPECT_THAT([&] { check("{rank}", options); },
              ThrowsMessage<UserError>(HasSubstr("only trials with `processes`")));
  options.processes = 2;
  EXPECT_NO_THROW(
      check("{rank}{world_size}{local_rank}{node_rank}{nodes}{processes_per_node}{master_addr}{master_port}",
            options));
  options.launch = CommandLaunch::kNode;
  EXPECT_NO_THROW(
      check("{world_size}{node_rank}{nodes}{processes_per_node}{master_addr}{master_port}", options));
  EXPECT_THAT([&] { check("{local_rank}", options); },
              ThrowsMessage<UserError>(HasSubstr("not with every `launch`")));
  options.launch = CommandLaunch::kMpirun;
  EXPECT_THAT([&] { check("{master_addr}", options); },
              ThrowsMessage<UserError>(HasSubstr("not with every `launch`")));
}

}  // namespace
}  // namespace skyline::evaluate
