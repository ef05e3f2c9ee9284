#pragma once

#include "skyline/core/random.hpp"

#include "comm/agreement.hpp"
#include "engine/engine_rig.hpp"
#include "support/mpi_test.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace skyline::engine {

using StepCounts = std::map<std::string, std::int64_t>;  // by name of the trial

/// Runs in which every rank takes part, in a folder that all ranks see.
class SharedRunTest : public testing::MpiTest {
 protected:
  void SetUp() override {
    if (rank() == 0) folder_ = std::make_unique<TemporaryFolder>();
    root_ = comm::share(world(), folder_ ? folder_->path().string() : "");
  }
  void TearDown() override {
    MpiTest::TearDown();
    folder_.reset();
  }
  RigRun run(const std::string& name, const RunSpec& spec, bool resume = false) {
    RunSpec dispatched = spec;
    dispatched.options.dispatch = dispatch();
    return run_in(testing::environment(), root_ / name, dispatched, resume);
  }
  virtual DispatchKind dispatch() const { return DispatchKind::kAuto; }
  std::string canonical(const std::string& name) { return store::canonical_journal(journal(name)); }
  std::filesystem::path journal(const std::string& name) { return store::RunPaths{root_ / name}.journal(); }
  const std::filesystem::path& root() { return root_; }

  /// Trials that `held` names begin to wait, and the asking ranks want to stop as soon as one does.
  RigRun stopped_run(const std::string& name, RunSpec spec, const std::vector<int>& asking,
                     const HookedEvaluator::Held& held) {
    const std::filesystem::path mark = root() / (name + ".held");
    spec.held = [held, mark](const trial::Trial& trial) {
      if (held(trial)) std::ofstream{mark};
      return held(trial);
    };
    if (std::ranges::count(asking, rank()) > 0) {
      spec.stop_requested = [mark] { return std::filesystem::exists(mark); };
    }
    return run(name, spec);
  }

  /// Of all ranks, on rank 0; empty elsewhere.
  StepCounts all_steps(const RigRun& job) {
    std::string text;
    for (const auto& [name, steps] : job.steps) {
      text += name + ' ' + std::to_string(steps) + ' ';
    }
    StepCounts all;
    for (const std::string& line : comm::gather(world(), text)) {
      std::istringstream words(line);
      std::string name;
      std::int64_t steps = 0;
      while (words >> name >> steps) all[name] += steps;
    }
    return all;
  }
  std::vector<int> all_ranks() {
    std::vector<int> ranks(static_cast<std::size_t>(size()));
    for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i);
    return ranks;
  }
  std::vector<std::string> checkpoints(const std::string& name) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(root() / name / "checkpoints")) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  /// Delays that differ from rank to rank, so that results come in another order on every layout.
  HookedEvaluator::Hook shuffling_delay() {
    return [salt = static_cast<std::uint64_t>(rank()) + 7](const trial::Trial& trial) {
      const std::uint64_t delay = derive_seed(salt, "delay", {trial.number}) % 4;
      std::this_thread::sleep_for(std::chrono::milliseconds(delay));
    };
  }

 private:
  std::unique_ptr<TemporaryFolder> folder_;
  std::filesystem::path root_;
};

/// Runs whose trials travel in either way.
class BothWaysTest : public SharedRunTest, public ::testing::WithParamInterface<DispatchKind> {
 protected:
  DispatchKind dispatch() const override { return GetParam(); }
};

/// For INSTANTIATE_TEST_SUITE_P.
inline auto both_ways() {
  return ::testing::Values(DispatchKind::kCollective, DispatchKind::kPointToPoint);
}
inline std::string name_of_way(const ::testing::TestParamInfo<DispatchKind>& info) {
  return info.param == DispatchKind::kCollective ? "Collective" : "PointToPoint";
}

}  // namespace skyline::engine
