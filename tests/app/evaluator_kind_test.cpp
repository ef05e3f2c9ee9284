#include "skyline/core/error.hpp"

#include "app/config/config_file.hpp"
#include "app/config/run_config.hpp"

#include <string>

#include <gmock/gmock.h>

namespace skyline::app {
namespace {

using testing::HasSubstr;
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
  std::vector<std::string> metrics() const override { return {"score"}; }
  double predicted_cost(const trial::Trial& /*trial*/) const override { return 1; }
  trial::Outcome evaluate(const trial::Trial& /*trial*/, trial::EvaluationContext& /*context*/) override {
    return trial::Measurements{{value_}};
  }

 private:
  double value_;
};

class ConstantKind final : public EvaluatorKind {
 public:
  explicit ConstantKind(std::string name) : name_(std::move(name)) {}
  std::string_view name() const override { return name_; }
  std::vector<std::string> metrics() const override { return {name_ == "misnamed" ? "points" : "score"}; }
  std::string_view meaning() const override { return "A constant."; }
  const KeyTable& keys() const override { return ConstantOptions::table(); }
  std::unique_ptr<trial::Evaluator> make(const ConfigNode& section,
                                         const EvaluatorInputs& /*inputs*/) const override {
    return std::make_unique<Constant>(section.at("value").as_number());
  }

 private:
  std::string name_;
};

/// A configuration with the section of an evaluator.
ConfigNode with_evaluator(const std::string& section, const std::string& metric = "score") {
  for (const char* name : {"constant", "misnamed"}) {
    if (find_evaluator(name) == nullptr) register_evaluator(std::make_unique<ConstantKind>(name));
  }
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
  EXPECT_FALSE(config.training);
  EXPECT_EQ(config.make_evaluator()->metrics(), std::vector<std::string>{"score"});
  EXPECT_EQ(config.resolved.at("constant").at("value").as_number(), 0.5);
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

TEST(EvaluatorKind, MustNameTheMetricsThatItsEvaluatorsMeasure) {
  const RunConfig config = RunConfig::parse(with_evaluator("misnamed: {}", "points"), true);
  EXPECT_THAT([&] { config.make_evaluator(); }, ThrowsMessage<InternalError>(HasSubstr("other metrics")));
}

TEST(EvaluatorKind, IsOneOfARun) {
  EXPECT_THAT(
      [] { RunConfig::parse(with_evaluator("synthetic: {}\nconstant: {}"), true); },
      ThrowsMessage<UserError>("a.yaml:3: constant: stands beside `synthetic`: a run has one of them"));
}

TEST(EvaluatorKind, IsNamedToWhoeverMisspellsIt) {
  EXPECT_THAT([] { RunConfig::parse(with_evaluator("constent: {}"), true); },
              ThrowsMessage<UserError>("a.yaml:2: unknown key `constent`, did you mean `constant`?"));
}

TEST(EvaluatorKind, CannotTakeTheNameOfAnotherSection) {
  for (const char* taken : {"training", "search"}) {
    EXPECT_THAT([&] { register_evaluator(std::make_unique<ConstantKind>(taken)); },
                ThrowsMessage<InternalError>(HasSubstr("there is a section of that name")));
  }
  EXPECT_THAT([&] { register_evaluator(std::make_unique<ConstantKind>("synthetic")); },
              ThrowsMessage<InternalError>(HasSubstr("the evaluator `synthetic` is registered already")));
}

}  // namespace
}  // namespace skyline::app
