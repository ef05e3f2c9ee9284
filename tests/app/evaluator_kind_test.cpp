#include "skyline/core/error.hpp"

#include "app/config/config_file.hpp"
#include "app/config/run_config.hpp"
#include "core/config/config_text.hpp"
#include "store/publish/publish.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>

namespace skyline::app {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

struct ConstantOptions {
  double value = 0.5;
  static const OptionTable<ConstantOptions>& table() {
    static const OptionTable<ConstantOptions> table{
        {"value", &ConstantOptions::value, at_least(0), "The only metric of every trial."}};
    return table;
  }
};

/// Its only metric is its setting.
class Constant final : public trial::Evaluator {
 public:
  explicit Constant(double value) : value_(value) {}
  double predicted_cost(const trial::Trial& /*trial*/) const override { return 1; }
  trial::Outcome evaluate(const trial::Trial& /*trial*/, trial::EvaluationContext& /*context*/) override {
    return trial::Measurements{{value_}};
  }

 private:
  double value_;
};

evaluate::EvaluatorKind constant_kind(const std::string& name = "constant") {
  return {.name = name,
          .meaning = "A constant.",
          .metrics =
              [](const ConfigNode& section, store::TargetKind /*targets*/) {
                const double value = section.is_null() ? 0 : section.at("value").as_number();
                const trial::Metric score{.name = "score", .range = {0, value + 10}};
                return std::vector<trial::Metric>(value == 8 ? 2 : 1, score);
              },
          .keys = std::make_shared<const OptionTable<ConstantOptions>>(ConstantOptions::table()),
          .needs =
              [](const ConfigNode& section) {
                const double value = section.at("value").as_number();
                return evaluate::EvaluatorNeeds{.epochs = 10 * value, .threads = 3, .inherits = value == 9};
              },
          .make =
              [](const ConfigNode& section, const evaluate::EvaluatorServices& /*services*/) {
                return std::make_unique<Constant>(section.at("value").as_number());
              }};
}

/// An evaluator that reads no network, and that cannot promise equal results.
evaluate::EvaluatorKind plain_kind() {
  evaluate::EvaluatorKind kind = constant_kind("plain");
  kind.needs = [](const ConfigNode& section) {
    return evaluate::EvaluatorNeeds{
        .inherits = section.at("value").as_number() == 9, .network = false, .deterministic = false};
  };
  kind.check_place = [](const ConfigNode& written, const evaluate::SectionPlace& place) {
    if (place.space.parameters().size() > 1) written.fail("knows one parameter");
  };
  return kind;
}

/// A configuration of a space without a network.
ConfigNode without_network(const std::string& section, const std::string& parameters = "a: {range: [1, 3]}") {
  if (evaluate::find_evaluator("plain") == nullptr) evaluate::register_evaluator(plain_kind());
  if (evaluate::find_evaluator("constant") == nullptr) evaluate::register_evaluator(constant_kind());
  return load_yaml_text(section + "\nspace: {parameters: {" + parameters +
                            "}}\nobjectives: [maximize: score]\nsearch: {algorithm: random}\n",
                        "a.yaml");
}

/// A configuration with the section of an evaluator.
ConfigNode with_evaluator(const std::string& section, const std::string& metric = "score") {
  if (evaluate::find_evaluator("constant") == nullptr) evaluate::register_evaluator(constant_kind());
  return load_yaml_text("data: {shape: [1, 8, 8], classes: 10}\n" + section +
                            "\n"
                            "space:\n"
                            "  parameters: {width: {choice: [8, 16]}}\n"
                            "  network: [flatten, linear: {features: $width}, linear: {features: $classes}]\n"
                            "objectives: [maximize: " +
                            metric + "]\nsearch: {algorithm: random}\n",
                        "a.yaml");
}

TEST(EvaluatorKind, IsChosenByItsSectionAndKeptWithAllDefaults) {
  const RunConfig config = RunConfig::parse(with_evaluator("constant: {}"), true);
  EXPECT_NE(config.make_evaluator(config.services()), nullptr);
  EXPECT_EQ(config.resolved.at("constant").at("value").as_number(), 0.5);
}

TEST(EvaluatorKind, SaysWhatItNeedsOfTheRun) {
  const RunConfig config = RunConfig::parse(with_evaluator("constant: {value: 0.2}"), true);
  EXPECT_EQ(config.evaluator.needs.epochs, 2);
  EXPECT_EQ(config.engine_options().threads_per_slot, 3);
  EXPECT_FALSE(config.engine_options().inherit);
}

TEST(EvaluatorKind, AsksForKeptWeightsWithoutNamingAKeyThatItLacks) {
  EXPECT_THAT(
      [] { RunConfig::parse(with_evaluator("constant: {value: 9}\nrun: {keep_weights: none}"), true); },
      ThrowsMessage<UserError>("a.yaml:3:21: run.keep_weights: expected `front` or `all`, got none: children "
                               "start from their parents' weights"));
}

TEST(EvaluatorKind, TellsRunsWithOtherSettingsApart) {
  const RunConfig implied = RunConfig::parse(with_evaluator("constant:"), true);
  const RunConfig given = RunConfig::parse(with_evaluator("constant: {value: 0.5}"), true);
  const RunConfig other = RunConfig::parse(with_evaluator("constant: {value: 0.6}"), true);
  EXPECT_EQ(implied.identity_hash(), given.identity_hash());
  EXPECT_EQ(first_identity_difference(given.resolved, other.resolved), "constant.value");
}

TEST(EvaluatorKind, NamesTheMetricsThatObjectivesMayUse) {
  EXPECT_THAT([] { RunConfig::parse(with_evaluator("constant: {}", "validation_accuracy"), true); },
              ThrowsMessage<UserError>(HasSubstr("validation_accuracy")));
}

TEST(EvaluatorKind, DescribesItsMetricsBySection) {
  const RunConfig config = RunConfig::parse(with_evaluator("constant: {value: 2}"), true);
  EXPECT_EQ(config.metrics.front().range.high, 12);
  EXPECT_EQ(config.objectives.objectives().front().ideal, 12) << "no constraint is needed";
  EXPECT_TRUE(config.objectives.has_volume());
  EXPECT_THAT([] { RunConfig::parse(with_evaluator("constant: {value: 8}"), true); },
              ThrowsMessage<UserError>("metric `score`: is described twice"));
}

TEST(EvaluatorKind, ThatReadsNoNetworkTakesASpaceOfParametersAloneAndNoData) {
  const RunConfig config = RunConfig::parse(without_network("plain: {value: 2}"), true);
  EXPECT_FALSE(config.space.has_network());
  EXPECT_EQ(config.resolved.find("data"), nullptr);
  EXPECT_EQ(RunConfig::parse(config.resolved, true).identity_hash(), config.identity_hash());
  EXPECT_THAT([] { RunConfig::parse(without_network("constant: {value: 2}"), true); },
              ThrowsMessage<UserError>(
                  "a.yaml:2:8: space: missing key `network`: the evaluator `constant` needs networks"));
  EXPECT_THAT(
      [] { RunConfig::parse(without_network("plain: {value: 9}"), true); },
      ThrowsMessage<UserError>(
          "a.yaml:2:8: space: missing key `network`: children start from the weights of their parents' "
          "layers"));
}

TEST(EvaluatorKind, SaysWhetherEqualTrialsHaveEqualResults) {
  const RunConfig config = RunConfig::parse(without_network("plain: {value: 2}"), true);
  EXPECT_FALSE(config.journal_header(Constant(2)).deterministic);
  const RunConfig other = RunConfig::parse(with_evaluator("constant: {}"), true);
  EXPECT_TRUE(other.journal_header(Constant(2)).deterministic);
}

TEST(EvaluatorKind, SaysWhetherResultsMayDependOnSeeds) {
  evaluate::EvaluatorKind fixed = constant_kind("fixed");
  fixed.needs = [](const ConfigNode& /*section*/) { return evaluate::EvaluatorNeeds{.seeded = false}; };
  evaluate::register_evaluator(fixed);
  EXPECT_FALSE(may_depend_on_seeds(without_network("fixed: {value: 1}")));
  EXPECT_TRUE(may_depend_on_seeds(without_network("plain: {value: 1}")));
  EXPECT_FALSE(may_depend_on_seeds(without_network("unknown: {value: 1}")));
}

TEST(EvaluatorKind, ChecksItsSectionAgainstTheSpaceOfAUserAndNotOfARun) {
  const std::string two = "a: {range: [1, 3]}, b: {range: [1, 3]}";
  EXPECT_THAT([&] { RunConfig::parse(without_network("plain: {value: 2}", two), true); },
              ThrowsMessage<UserError>("a.yaml:1:8: plain: knows one parameter"));
  EXPECT_EQ(RunConfig::read(without_network("plain: {value: 2}", two)).space.parameters().size(), 2U);
}

TEST(EvaluatorKind, IsHandedAWriterOfNetworksForPyTorch) {
  const RunConfig config = RunConfig::parse(with_evaluator("constant: {}"), true);
  const std::filesystem::path file = testing::TempDir() + "/skyline_network.py";
  config.services().write_network(config.space.build(config.space.genotype_at(1)), file);
  const std::string source = store::read_file(file);
  std::filesystem::remove(file);
  EXPECT_THAT(source, HasSubstr("class Network(nn.Module)"));
  EXPECT_THAT(source, HasSubstr("\"genotype\": \"width=16\""));
  EXPECT_THAT(source, Not(HasSubstr("WEIGHTS")));
}

TEST(EvaluatorKind, CannotBeCombinedWithAnotherOneInARun) {
  EXPECT_THAT([] { RunConfig::parse(with_evaluator("synthetic: {}\nconstant: {}"), true); },
              ThrowsMessage<UserError>(
                  "a.yaml:3:11: constant: cannot be combined with `synthetic`: a run has one of them"));
}

TEST(EvaluatorKind, IsNamedToWhoeverMisspellsIt) {
  EXPECT_THAT([] { RunConfig::parse(with_evaluator("constent: {}"), true); },
              ThrowsMessage<UserError>("a.yaml:2:1: unknown key `constent`, did you mean `constant`?"));
}

TEST(EvaluatorKind, CannotTakeTheNameOfAnotherOne) {
  (void)all_sections();
  for (const char* taken : {"synthetic", "training"}) {
    EXPECT_THAT(
        [&] { evaluate::register_evaluator(constant_kind(taken)); },
        ThrowsMessage<InternalError>("the evaluator `" + std::string(taken) + "` is registered already"));
  }
}

TEST(EvaluatorKind, IsRefusedIfAFunctionIsMissing) {
  evaluate::EvaluatorKind kind = constant_kind("mute");
  kind.metrics = nullptr;
  EXPECT_THAT([&] { evaluate::register_evaluator(kind); },
              ThrowsMessage<InternalError>("an evaluator must have `metrics`, `keys`, `needs` and `make`"));
}

TEST(EvaluatorKindDeathTest, CannotTakeTheNameOfAnotherSection) {
  EXPECT_EXIT(  // in a process of its own, which knows the kind ever after
      {
        evaluate::register_evaluator(constant_kind("search"));
        try {
          (void)all_sections();
        } catch (const InternalError& error) {
          std::fputs(error.what(), stderr);
          std::exit(3);
        }
      },
      testing::ExitedWithCode(3), "there is a section of that name");
}

}  // namespace
}  // namespace skyline::app
