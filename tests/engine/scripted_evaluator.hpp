#pragma once

#include "skyline/core/error.hpp"
#include "skyline/trial/evaluator.hpp"

#include "engine/slots/slot_pool.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace skyline::engine {

/// Evaluates as it is told.
class ScriptedEvaluator final : public trial::Evaluator {
 public:
  using Script = std::function<trial::Outcome(const trial::Trial&, trial::EvaluationContext&)>;
  explicit ScriptedEvaluator(Script script) : script_(std::move(script)) {}
  /// The device fails with the next trial.
  void break_device(std::string reason) { fault_ = std::move(reason); }
  std::exception_ptr fault() override {
    return fault_ ? std::make_exception_ptr(FaultError(*fault_)) : nullptr;
  }
  double predicted_cost(const trial::Trial&) const override { return 1; }
  trial::Outcome evaluate(const trial::Trial& trial, trial::EvaluationContext& context) override {
    return script_(trial, context);
  }

 private:
  Script script_;
  std::optional<std::string> fault_;
};

inline AskedTrial trial_of(trial::TrialNumber number, std::uint32_t members = 1) {
  trial::Trial trial;
  trial.number = number;
  trial.members = members;
  return std::make_shared<const trial::Trial>(trial);
}

inline SlotPoolOptions pool_of(std::size_t slots) {
  SlotPoolOptions options;
  options.rank = 4;
  options.slots = slots;
  options.metrics = 1;
  options.run_started = std::chrono::steady_clock::now();
  return options;
}

/// Waits for so many results, with a limit.
inline std::vector<Arrival> collect(SlotPool& pool, std::size_t count) {
  std::vector<Arrival> all;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (all.size() < count && std::chrono::steady_clock::now() < limit) {
    for (Arrival& arrival : pool.take()) all.push_back(std::move(arrival));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return all;
}

}  // namespace skyline::engine
