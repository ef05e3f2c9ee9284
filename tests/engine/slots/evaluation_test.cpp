#include "engine/slots/evaluation.hpp"

#include "skyline/core/error.hpp"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using trial::Failure;

struct Abort {
  Failure failure;
  bool fault = false;
};

/// A group that cannot talk.
class BrokenGroup final : public trial::TrialGroup {
 public:
  explicit BrokenGroup(std::optional<Abort>& told) : told_(told) {}
  std::size_t members() const override { return 1; }
  std::size_t member() const override { return 0; }
  std::unique_ptr<Operation> all_reduce(std::span<float>) override { fail(); }
  std::unique_ptr<Operation> reduce_scatter(std::span<float>) override { fail(); }
  std::unique_ptr<Operation> all_gather(std::span<float>) override { fail(); }
  void sum(std::span<double>) override { fail(); }
  void broadcast(std::span<std::byte>) override { fail(); }
  void check() override {}
  void abort(const Failure& failure, bool fault) noexcept override { told_ = {failure, fault}; }

 private:
  [[noreturn]] static void fail() { throw InternalError("MPI_Isend: the network is down"); }
  std::optional<Abort>& told_;
};

class UnusedEvaluator final : public trial::Evaluator {
 public:
  double predicted_cost(const trial::Trial&) const override { return 1; }
  trial::Outcome evaluate(const trial::Trial&, trial::EvaluationContext&) override {
    throw std::logic_error("it must not begin");
  }
};

TEST(EvaluateTogether, TellsOfAFaultIfTheMembersCannotMeet) {
  std::optional<Abort> told;
  std::vector<std::unique_ptr<trial::TrialGroup>> members;
  members.push_back(std::make_unique<BrokenGroup>(told));
  TrialDeadline deadline;
  MemberContext context(*members.front(), deadline, "");
  UnusedEvaluator evaluator;
  MemberThreads threads({});
  const trial::Outcome outcome = evaluate_together(evaluator, {}, members, context, true, deadline, threads);
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->fault);
  EXPECT_NE(told->failure.reason.find("the network is down"), std::string::npos);
  EXPECT_EQ(std::get<Failure>(outcome).reason, told->failure.reason);
}

TEST(FitReason, KeepsTheFirstLine) {
  EXPECT_EQ(fit_reason("shape mismatch\nstack of calls"), "shape mismatch");
  EXPECT_EQ(fit_reason("windows line\r\nmore"), "windows line");
  EXPECT_EQ(fit_reason(""), "");
}

TEST(FitReason, CutsBetweenCharacters) {
  EXPECT_EQ(fit_reason(std::string(300, 'x')), std::string(240, 'x'));
  // 239 bytes, then a character of two bytes that would end at byte 241.
  EXPECT_EQ(fit_reason(std::string(239, 'x') + "\u00e9 and more"), std::string(239, 'x'));
  EXPECT_EQ(fit_reason(std::string(238, 'x') + "\u00e9 and more"), std::string(238, 'x') + "\u00e9");
}

}  // namespace
}  // namespace skyline::engine
