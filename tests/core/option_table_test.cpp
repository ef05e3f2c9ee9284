#include "skyline/core/option_table.hpp"

#include "skyline/core/error.hpp"

#include "core/config/byte_size.hpp"
#include "core/config/config_text.hpp"
#include "support/user_error_of.hpp"
#include "support/yaml_config.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline {
namespace {

using testing::config_from_yaml;
using testing::user_error_of;

enum class Colour { kRed, kGreen };

struct Wheels {
  int count = 4;
  double pressure = 2.5;
  static const OptionTable<Wheels>& table() {
    static const OptionTable<Wheels> table{
        {"count", &Wheels::count, at_least(1).at_most(18), "Number of wheels."},
        {"pressure", &Wheels::pressure, above(0), "Of the air, in bar.", KeyRule::kMayChange}};
    return table;
  }
};

struct Engine {
  enum class Kind { kPetrol, kElectric };
  Kind kind = Kind::kPetrol;
  double litres = 1.6;
  double kilowatts = 80;
};

struct Car {
  std::string owner;
  Colour colour = Colour::kRed;
  bool radio = true;
  double warranty_s = 3600;
  std::optional<std::size_t> seats;
  Wheels wheels;
  std::optional<Wheels> spare = Wheels{};
  Engine engine;
};

OptionTable<Car> car_table() {
  const OptionTable<Engine> petrol{{"litres", &Engine::litres, above(0), "Displacement."}};
  const OptionTable<Engine> electric{{"kilowatts", &Engine::kilowatts, above(0), "Power."}};
  const auto engine = one_of<Engine>(&Engine::kind, std::vector<Variant<Engine, Engine::Kind>>{
                                                        {"petrol", Engine::Kind::kPetrol, petrol},
                                                        {"electric", Engine::Kind::kElectric, electric}});
  const auto check = [](const Car& car, const ConfigNode& section) {
    if (!car.radio && car.colour == Colour::kGreen) section.at("radio").fail("a green car has a radio");
  };
  return {
      {{"owner", &Car::owner, text("a name"), "Who drives it.", KeyRule::kRequired},
       {"colour", &Car::colour, choice<Colour>({{"red", Colour::kRed}, {"green", Colour::kGreen}}), "Paint."},
       {"radio", &Car::radio, "Whether there is one.", KeyRule::kMayChange},
       {"warranty", &Car::warranty_s, duration(above(0)), "Time until it breaks."},
       {"seats", &Car::seats, or_keyword("bench", integer<std::size_t>(at_least(1))), "Number of seats."},
       {"wheels", &Car::wheels, "What it rolls on."},
       {"spare", &Car::spare, or_keyword("none", section(Wheels::table())), "Wheels in the boot."},
       {"engine", &Car::engine, engine, "What moves it."}},
      check};
}

Car parse(const std::string& yaml) {
  return car_table().parse(config_from_yaml(yaml, "a.yaml", "car"));
}

std::string error_of(const std::string& yaml) {
  return user_error_of([&] { parse(yaml); });
}

TEST(OptionTable, ReadsEveryKindOfValueAndKeepsDefaultsOfTheRest) {
  const Car car = parse(
      "{owner: Ada, colour: green, warranty: 1h30m, seats: 5, wheels: {count: 3}, spare: none, "
      "engine: {electric: {kilowatts: 150}}}");
  EXPECT_EQ(car.owner, "Ada");
  EXPECT_EQ(car.colour, Colour::kGreen);
  EXPECT_TRUE(car.radio);
  EXPECT_EQ(car.warranty_s, 5400);
  EXPECT_EQ(car.seats, 5U);
  EXPECT_EQ(car.wheels.count, 3);
  EXPECT_EQ(car.wheels.pressure, 2.5);
  EXPECT_FALSE(car.spare);
  EXPECT_EQ(car.engine.kind, Engine::Kind::kElectric);
  EXPECT_EQ(car.engine.kilowatts, 150);
}

TEST(OptionTable, WritesAllDefaultsAndReadsThemBackTheSame) {
  const ConfigNode complete = car_table().complete(config_from_yaml("owner: Ada"));
  EXPECT_EQ(
      first_difference(
          complete, config_from_yaml("{owner: Ada, colour: red, radio: true, warranty: 3600 s, seats: bench, "
                                     "wheels: {count: 4, pressure: 2.5}, spare: {count: 4, pressure: 2.5}, "
                                     "engine: {petrol: {litres: 1.6}}}")),
      "");
  EXPECT_EQ(first_difference(car_table().complete(complete), complete), "");
  EXPECT_EQ(parse("{owner: Ada, spare: , wheels: }").spare->count, 4) << "an empty section has the defaults";
  EXPECT_EQ(parse("{owner: Ada, engine: electric}").engine.kind, Engine::Kind::kElectric);
}

TEST(OptionTable, SaysInOneLineWhatIsExpectedAndWhatItGot) {
  EXPECT_EQ(error_of("colour: red"), "a.yaml:1:1: car: missing key `owner`");
  EXPECT_EQ(error_of("owner: ''"), "a.yaml:1:8: car.owner: expected a name, got \"\"");
  EXPECT_EQ(error_of("{owner: Ada,\ncolour: blue}"),
            "a.yaml:2:9: car.colour: expected `red` or `green`, got blue");
  EXPECT_EQ(error_of("{owner: Ada, radio: 1}"), "a.yaml:1:21: car.radio: expected true or false, got 1");
  EXPECT_EQ(error_of("{owner: Ada, radio: yes}"), "a.yaml:1:21: car.radio: expected true or false, got yes");
  EXPECT_EQ(error_of("{owner: Ada, warranty: 0}"),
            "a.yaml:1:24: car.warranty: expected a duration above 0, e.g. 90 s, 15 min, 1h30m or 2 d, got 0");
  EXPECT_EQ(error_of("{owner: Ada, seats: 0}"),
            "a.yaml:1:21: car.seats: expected `bench` or a whole number of at least 1, got 0");
  EXPECT_EQ(error_of("{owner: Ada, wheels: {count: 19}}"),
            "a.yaml:1:30: car.wheels.count: expected a whole number from 1 to 18, got 19");
  EXPECT_EQ(error_of("{owner: Ada, wheels: {count: 3.5}}"),
            "a.yaml:1:30: car.wheels.count: expected a whole number from 1 to 18, got 3.5");
  EXPECT_EQ(error_of("{owner: Ada, wheels: {count: \"3\"}}"),
            "a.yaml:1:30: car.wheels.count: expected a whole number from 1 to 18, got \"3\"");
  EXPECT_EQ(error_of("{owner: Ada, spare: some}"),
            "a.yaml:1:21: car.spare: expected `none` or a section with the keys count, pressure, got some");
  EXPECT_EQ(
      error_of("{owner: Ada, engine: steam}"),
      "a.yaml:1:22: car.engine: expected `petrol` or `electric`, with or without keys below it, got steam");
  EXPECT_EQ(error_of("{owner: Ada, colour: green, radio: false}"),
            "a.yaml:1:36: car.radio: a green car has a radio");
}

/// Seconds, or nothing where the text is refused.
std::optional<double> duration_of(const ConfigNode& node) {
  double seconds = -1;
  return duration(at_least(0)).read(node, seconds) ? std::optional(seconds) : std::nullopt;
}

TEST(OptionKind, ReadsDurationsInSeconds) {
  for (const auto& [text, seconds] : std::map<std::string, double>{{"0", 0},
                                                                   {"1.5e2 s", 150},
                                                                   {"90s", 90},
                                                                   {"0.5 s", 0.5},
                                                                   {"1e-06 s", 1e-6},
                                                                   {"2 s 50ms", 2.05},
                                                                   {"15 m", 900},
                                                                   {"15min", 900},
                                                                   {"2 h", 7200},
                                                                   {"1h30m", 5400},
                                                                   {"1 h 30 min 5 s", 5405},
                                                                   {"1 d", 86400}}) {
    for (const bool is_quoted : {false, true}) {  // quotes as in JSON
      const std::optional<double> read = duration_of(ConfigNode::make_scalar(text, {}, is_quoted));
      ASSERT_TRUE(read) << text;
      EXPECT_DOUBLE_EQ(*read, seconds) << text;
    }
  }
}

TEST(OptionKind, RefusesWhatIsNoDuration) {
  for (const std::string text :
       {"", "90", "1.5e2", "-1", "-1 s", ".inf", "30 sec", "1 week", "h", "1h 2h", "1h-1m", "30m1h", "1h30",
        "1..2 s", "s 1", "1 s x", "nan", "three", "1 epoch"}) {
    EXPECT_FALSE(duration_of(ConfigNode::make_scalar(text, {}))) << text;
  }
  EXPECT_FALSE(duration_of(config_from_yaml("[1 s]")));
  EXPECT_EQ(
      error_of("{owner: Ada, warranty: 1 week}"),
      "a.yaml:1:24: car.warranty: expected a duration above 0, e.g. 90 s, 15 min, 1h30m or 2 d, got 1 week");
}

TEST(OptionTable, ReportsAllMistakesInTheOrderOfTheText) {
  EXPECT_EQ(error_of("{owner: '',\nwheel: 3,\nwheels: {count: 19, presure: 2}}"),
            "a.yaml:1:9: car.owner: expected a name, got \"\"\n"
            "a.yaml:2:1: car: unknown key `wheel`, did you mean `wheels`?\n"
            "a.yaml:3:17: car.wheels.count: expected a whole number from 1 to 18, got 19\n"
            "a.yaml:3:21: car.wheels: unknown key `presure`, did you mean `pressure`?");
  EXPECT_EQ(error_of("ownr: Ada"), "a.yaml:1:1: car: unknown key `ownr`, did you mean `owner`?");
}

TEST(OptionTable, RefusesUnknownKeysWithTheNearestKnownOne) {
  EXPECT_EQ(error_of("{owner: x,\nradio: true,\nradio: false}"),
            "a.yaml:3:1: car: key `radio` is given twice");
  EXPECT_EQ(error_of("{owner: Ada,\nwheel: 3}"),
            "a.yaml:2:1: car: unknown key `wheel`, did you mean `wheels`?");
  EXPECT_EQ(error_of("{owner: Ada, wheels: {presure: 2}}"),
            "a.yaml:1:23: car.wheels: unknown key `presure`, did you mean `pressure`?");
  EXPECT_EQ(error_of("{owner: Ada, engine: {eletric: {}}}"),
            "a.yaml:1:23: car.engine: unknown key `eletric`, did you mean `electric`?");
}

TEST(OptionTable, LeavesOutOfTheIdentityWhatMayChangeAtAnyDepth) {
  const ConfigNode identity = car_table().identity(car_table().complete(config_from_yaml("owner: Ada")));
  EXPECT_EQ(identity.find("radio"), nullptr);
  EXPECT_EQ(first_difference(identity.at("wheels"), config_from_yaml("count: 4")), "");
  EXPECT_EQ(first_difference(identity.at("spare"), config_from_yaml("count: 4")), "");
  EXPECT_EQ(identity.at("colour").as_text(), "red");
  EXPECT_EQ(car_table().identity(config_from_yaml("{owner: Ada, spare: none}")).at("spare").as_text(),
            "none");
}

TEST(OptionTable, TagsAVariantByAKeyThatIsAlwaysTheSameWord) {
  const auto tagged = Wheels::table().tagged("kind", "tyres", "What the wheels are.");
  EXPECT_EQ(first_difference(tagged.complete(ConfigNode()),
                             config_from_yaml("{kind: tyres, count: 4, pressure: 2.5}")),
            "");
  EXPECT_EQ(
      user_error_of([&] { tagged.parse(config_from_yaml("{kind: tyres, cuont: 3}", "a.yaml", "car")); }),
      "a.yaml:1:15: car: unknown key `cuont` beside `kind: tyres`, did you mean `count`?");
}

TEST(OptionTable, SaysHowToReplaceASectionWhoseVariantAloneWasSet) {
  const auto tagged = Wheels::table().tagged("kind", "tyres", "What the wheels are.");
  ConfigNode root = config_from_yaml("car: {kind: tracks, width: 2, count: 3, links: 9}", "a.yaml");
  apply_override(root, "car.kind=tyres");
  const std::string error = user_error_of([&] { tagged.parse(root.at("car")); });
  EXPECT_THAT(error,
              ::testing::StartsWith("a.yaml:1:21: car: unknown key `width` beside `kind: tyres`, known here: "
                                    "kind, count, pressure; to replace the whole section: --set "
                                    "\"car={kind: tyres, count: 3}\"\n"));
  EXPECT_THAT(error, ::testing::EndsWith(
                         "unknown key `links` beside `kind: tyres`, known here: kind, count, pressure"));
}

TEST(ByteSize, TakesPrefixesOfThousandsAndUnits) {
  const auto read = [](const std::string& text) -> std::optional<std::uint64_t> {
    std::uint64_t bytes = 0;
    if (!byte_size().read(ConfigNode::make_scalar(text, {}), bytes)) return std::nullopt;
    return bytes;
  };
  EXPECT_EQ(read("64k"), 64'000U);
  EXPECT_EQ(read("1.5 MiB"), 3U << 19U);
  EXPECT_EQ(read("2GB"), 2'000'000'000U);
  for (const char* wrong : {"64", "64m", "k", "-1k", "0 MB", "1e30G", ".inf", "1 2k"})
    EXPECT_EQ(read(wrong), std::nullopt) << wrong;
}

TEST(OptionTable, RefusesTwoKeysOfOneName) {
  OptionTable<Wheels> table = Wheels::table();
  EXPECT_THROW(table.add({"count", &Wheels::count, at_least(1), "Again."}), InternalError);
}

TEST(OptionTable, DescribesItsKeysAsAJsonSchema) {
  const ConfigNode schema = car_table().schema();
  EXPECT_EQ(schema.at("additionalProperties").as_text(), "false");
  EXPECT_EQ(schema.at("required").items().size(), 1U);
  const ConfigNode& count = schema.at("properties").at("wheels").at("properties").at("count");
  EXPECT_EQ(to_json(count),
            "{\n  \"type\": \"integer\",\n  \"minimum\": 1,\n  \"maximum\": 18,\n"
            "  \"description\": \"Number of wheels.\",\n  \"default\": 4\n}\n");
}

TEST(OptionTable, ListsItsKeysWithDefaultsThoseOfSectionsBehindThem) {
  const std::vector<KeyRow> rows = car_table().rows("car");
  std::string paths;
  for (const KeyRow& row : rows) paths += row.path + " ";
  EXPECT_EQ(paths,
            "car.owner car.colour car.radio car.warranty car.seats car.wheels car.wheels.count "
            "car.wheels.pressure car.spare car.spare.count car.spare.pressure car.engine "
            "car.engine.petrol.litres car.engine.electric.kilowatts ");
  EXPECT_TRUE(rows[0].required);
  EXPECT_EQ(rows[0].fallback, "");
  EXPECT_EQ(rows[3].fallback, "3600 s");
  EXPECT_EQ(rows[4].fallback, "bench");
  EXPECT_TRUE(rows[7].may_change);
  EXPECT_FALSE(rows[6].may_change);
}

TEST(OptionTable, ListsTheAdviceOnAKey) {
  const std::vector<KeyRow> rows = car_table().advised("seats", "few are light.").rows("car");
  EXPECT_EQ(rows[4].advice, "few are light.");
  EXPECT_EQ(rows[3].advice, "");
  EXPECT_THROW((void)car_table().advised("wings", "none."), InternalError);
}

TEST(Range, HoldsNeitherInfinityNorNan) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(at_least(0).holds(0));
  EXPECT_FALSE(above(0).holds(0));
  EXPECT_TRUE(above(0).at_most(1).holds(1));
  EXPECT_FALSE(above(0).below(1).holds(1));
  EXPECT_FALSE(at_least(0).holds(infinity));
  EXPECT_FALSE(at_least(0).holds(std::numeric_limits<double>::quiet_NaN()));
}

TEST(JsonText, WritesNumbersFlagsAndTextsAsTheyAre) {
  const ConfigNode tree =
      config_from_yaml("{a: [1, 2.50, true, word, \"7\"], b: {}, c: [], d: , e: \"a \\\" b\\n\"}");
  EXPECT_EQ(to_json(tree),
            "{\n  \"a\": [\n    1,\n    2.5,\n    true,\n    \"word\",\n    \"7\"\n  ],\n  \"b\": {},\n"
            "  \"c\": [],\n  \"d\": null,\n  \"e\": \"a \\\" b\\u000a\"\n}\n");
}

}  // namespace
}  // namespace skyline
