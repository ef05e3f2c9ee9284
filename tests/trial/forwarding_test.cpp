#include "trial/forwarding.hpp"

#include "support/local_groups.hpp"

#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::trial {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Ref;
using ::testing::Return;
using ::testing::ReturnRef;
using ::testing::StrictMock;

class MockEvaluator : public Evaluator {
 public:
  MOCK_METHOD(double, predicted_cost, (const Trial&), (const, override));
  MOCK_METHOD(std::uint32_t, members_for, (const Trial&), (const, override));
  MOCK_METHOD(bool, forms_groups, (), (const, override));
  MOCK_METHOD(std::size_t, slots, (), (const, override));
  MOCK_METHOD(Place, place, (Place), (const, override));
  MOCK_METHOD(std::string, device, (), (const, override));
  MOCK_METHOD(Outcome, evaluate, (const Trial&, EvaluationContext&), (override));
  MOCK_METHOD(std::vector<double>, latencies_ms, (std::span<const Trial>), (override));
  MOCK_METHOD(std::exception_ptr, fault, (), (override));
  MOCK_METHOD(bool, tries_again, (const Failure&, std::uint32_t), (const, override));
};

class MockContext : public EvaluationContext {
 public:
  MOCK_METHOD(TrialControl&, control, (), (override));
  MOCK_METHOD(TrialState&, state, (), (override));
  MOCK_METHOD(TrialWeights&, weights, (), (override));
  MOCK_METHOD(const TrialFolder*, folder, (), (override));
  MOCK_METHOD(EarlyValues&, early_values, (), (override));
  MOCK_METHOD(TrialPruning*, pruning, (), (override));
  MOCK_METHOD(TrialGroup*, group, (), (override));
  MOCK_METHOD(Place, place, (), (const, override));
  MOCK_METHOD(std::string, last_failure, (), (const, override));
  MOCK_METHOD(TrialTiming&, timing, (), (override));
  MOCK_METHOD(void, report, (CurvePoint), (override));
};

class MockWeights : public TrialWeights {
 public:
  MOCK_METHOD(std::shared_ptr<const Tensors>, inherited, (), (override));
  MOCK_METHOD(bool, wanted, (), (const, override));
  MOCK_METHOD(void, keep, (Tensors), (override));
  MOCK_METHOD(void, keep_answers, (std::string), (override));
};

class NothingCompared final : public TrialPruning {
 public:
  std::span<const Decision> decisions() const override { return {}; }
  std::vector<std::string> compared() const override { return {}; }
  bool decide(const CurvePoint& /*point*/) override { return false; }
};

class NeverStops final : public TrialControl {
 public:
  bool stop_requested() const override { return false; }
};

Place on_host(const std::string& host) {
  Place place;
  place.host = host;
  return place;
}

TEST(ForwardingEvaluator, GivesTheAnswersOfTheOneBehindIt) {
  auto owned = std::make_unique<StrictMock<MockEvaluator>>();
  MockEvaluator& behind = *owned;
  ForwardingEvaluator evaluator(std::move(owned));
  const Trial trial;
  const Failure failure{FailureKind::kProgram, "exit code 1"};
  StrictMock<MockContext> context;
  const std::exception_ptr fault = std::make_exception_ptr(std::runtime_error("gone"));
  EXPECT_CALL(behind, predicted_cost(Ref(trial))).WillOnce(Return(7));
  EXPECT_CALL(behind, members_for(Ref(trial))).WillOnce(Return(3));
  EXPECT_CALL(behind, forms_groups()).WillOnce(Return(true));
  EXPECT_CALL(behind, slots()).WillOnce(Return(5));
  EXPECT_CALL(behind, place(Field(&Place::host, "a"))).WillOnce(Return(on_host("b")));
  EXPECT_CALL(behind, device()).WillOnce(Return("gpu"));
  EXPECT_CALL(behind, evaluate(Ref(trial), Ref(context))).WillOnce(Return(failure));
  EXPECT_CALL(behind, latencies_ms).WillOnce(Return(std::vector<double>{1, 2}));
  EXPECT_CALL(behind, fault()).WillOnce(Return(fault));
  EXPECT_CALL(behind, tries_again(Ref(failure), 2)).WillOnce(Return(true));
  EXPECT_EQ(evaluator.predicted_cost(trial), 7);
  EXPECT_EQ(evaluator.members_for(trial), 3);
  EXPECT_TRUE(evaluator.forms_groups());
  EXPECT_EQ(evaluator.slots(), 5);
  EXPECT_EQ(evaluator.place(on_host("a")).host, "b");
  EXPECT_EQ(evaluator.device(), "gpu");
  EXPECT_TRUE(std::holds_alternative<Failure>(evaluator.evaluate(trial, context)));
  EXPECT_THAT(evaluator.latencies_ms(std::span(&trial, 1)), ElementsAre(1, 2));
  EXPECT_EQ(evaluator.fault(), fault);
  EXPECT_TRUE(evaluator.tries_again(failure, 2));
}

TEST(ForwardingContext, GivesTheServicesOfTheOneBehindIt) {
  StrictMock<MockContext> behind;
  ForwardingContext context(behind);
  NeverStops control;
  TrialState state;
  TrialWeights weights;
  EarlyValues early;
  NothingCompared pruning;
  const TrialFolder folder;
  TrialTiming timing;
  const auto members = testing::make_local_groups(1);
  TrialGroup* const group = members.front().get();
  EXPECT_CALL(behind, control()).WillOnce(ReturnRef(control));
  EXPECT_CALL(behind, state()).WillOnce(ReturnRef(state));
  EXPECT_CALL(behind, weights()).WillOnce(ReturnRef(weights));
  EXPECT_CALL(behind, folder()).WillOnce(Return(&folder));
  EXPECT_CALL(behind, pruning()).WillOnce(Return(&pruning));
  EXPECT_CALL(behind, group()).WillOnce(Return(group));
  EXPECT_CALL(behind, place()).WillOnce(Return(on_host("b")));
  EXPECT_CALL(behind, last_failure()).WillOnce(Return("full"));
  EXPECT_CALL(behind, timing()).WillOnce(ReturnRef(timing));
  EXPECT_CALL(behind, report(Field(&CurvePoint::step, 9)));
  EXPECT_EQ(&context.control(), &control);
  EXPECT_EQ(&context.state(), &state);
  EXPECT_EQ(&context.weights(), &weights);
  EXPECT_EQ(context.folder(), &folder);
  EXPECT_EQ(context.pruning(), &pruning);
  EXPECT_EQ(context.group(), group);
  EXPECT_EQ(context.place().host, "b");
  EXPECT_EQ(context.last_failure(), "full");
  EXPECT_EQ(&context.timing(), &timing);
  context.report({.step = 9});
}

TEST(ForwardingWeights, GiveAndKeepThoseOfTheOneBehindThem) {
  StrictMock<MockWeights> behind;
  ForwardingWeights weights(behind);
  const auto parents = std::make_shared<const TrialWeights::Tensors>();
  EXPECT_CALL(behind, inherited()).WillOnce(Return(parents));
  EXPECT_CALL(behind, wanted()).WillOnce(Return(true));
  EXPECT_CALL(behind, keep(ElementsAre(Field(&NamedTensor::name, "bias"))));
  EXPECT_CALL(behind, keep_answers("[1]"));
  EXPECT_EQ(weights.inherited(), parents);
  EXPECT_TRUE(weights.wanted());
  weights.keep({{.name = "bias", .dims = {}, .values = {}}});
  weights.keep_answers("[1]");
}

/// Returns the names that the expression finds in the definition of a class.
std::set<std::string> functions_of(const std::string& header, const std::string& begin,
                                   const std::regex& expression) {
  std::ifstream file(std::filesystem::path(SKYLINE_SOURCE_DIR) / header);
  std::ostringstream content;
  content << file.rdbuf();
  std::string text = content.str();
  const std::size_t start = text.find("\nclass " + begin);
  if (start == std::string::npos) return {};
  text = text.substr(start, text.find("\n};", start) - start);
  std::set<std::string> names;
  for (std::sregex_iterator found(text.begin(), text.end(), expression), end; found != end; ++found) {
    names.insert((*found)[1]);
  }
  return names;
}

TEST(Forwarding, OverridesEachVirtualFunctionOfTheInterface) {
  const std::regex virtuals("virtual [^;{(~]*?(\\w+)\\(");
  const std::regex overrides("(\\w+)\\([^;{(]*\\) (?:const )?override");
  const std::pair<std::string, std::string> classes[] = {
      {"Evaluator", "ForwardingEvaluator"},
      {"EvaluationContext", "ForwardingContext"},
      {"TrialWeights", "ForwardingWeights"},
  };
  for (const auto& [interface, forwarding] : classes) {
    const auto declared = functions_of("include/skyline/trial/evaluator.hpp", interface + " {", virtuals);
    EXPECT_FALSE(declared.empty()) << interface;
    EXPECT_EQ(functions_of("src/trial/forwarding.hpp", forwarding + " :", overrides), declared);
  }
}

}  // namespace
}  // namespace skyline::trial
