#pragma once

#include "skyline/trial/evaluator.hpp"

#include "support/local_groups.hpp"
#include "train/train_fixtures.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace skyline::train::test {

/// 300 images of 6 classes.
inline const std::shared_ptr<const store::Dataset>& bars() {
  static const std::shared_ptr<const store::Dataset> data =
      std::make_shared<BarImages>(space::Shape{2, 8, 8}, 6, 300, 60);
  return data;
}

/// Nine elements a sample and channel in front of the second dropout: masks begin at odd places too.
inline space::Network every_layer() {
  return NetworkBuilder({2, 8, 8})
      .conv2d(16, 3)
      .batch_norm()
      .relu()
      .max_pool(2)
      .dropout(0.2)
      .conv2d(7, 2)
      .relu()
      .batch_norm()
      .dropout(0.1)
      .flatten()
      .linear(24)
      .relu()
      .linear(6)
      .build();
}

/// With a convolution and its norm that the CPU computes in bfloat16 if the precision is bf16.
inline space::Network wide_network() {
  return NetworkBuilder({2, 8, 8})
      .conv2d(24, 3)
      .relu()
      .conv2d(24, 3)
      .batch_norm()
      .relu()
      .max_pool(2)
      .dropout(0.2)
      .conv2d(8, 3)
      .relu()
      .flatten()
      .linear(6)
      .build();
}

/// Calls `work` for each member of a group, each on a thread of its own.
inline void run_members(std::size_t members, const std::function<void(std::size_t, trial::TrialGroup&)>& work,
                        std::chrono::milliseconds silence = std::chrono::minutes(1)) {
  const auto groups = skyline::testing::make_local_groups(members, silence);
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> errors(members);
  for (std::size_t member = 0; member < members; ++member) {
    threads.emplace_back([&, member] {
      try {
        work(member, *groups[member]);
      } catch (...) {
        errors[member] = std::current_exception();
        groups[member]->abort({trial::FailureKind::kException, "a member of the test has thrown"});
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr) {
      std::rethrow_exception(error);
    }
  }
}

/// A trial that a group trains: the contexts of its members, and what each made of it.
struct GroupRun {
  explicit GroupRun(std::size_t members) : contexts(members), outcomes(members) { leader().wants = true; }
  RecordingContext& leader() { return contexts.front(); }
  /// @param before  called on each member's thread
  void evaluate(
      trial::Evaluator& evaluator, trial::Trial trial,
      const std::function<void(std::size_t)>& before = [](std::size_t) {}) {
    trial.members = static_cast<std::uint32_t>(contexts.size());
    run_members(contexts.size(), [&](std::size_t member, trial::TrialGroup& group) {
      contexts[member].in_group = &group;
      before(member);
      outcomes[member] = evaluator.evaluate(trial, contexts[member]);
    });
  }

  std::deque<RecordingContext> contexts;
  std::vector<trial::Outcome> outcomes;
};

}  // namespace skyline::train::test
