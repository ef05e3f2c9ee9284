#pragma once

#include "skyline/core/random.hpp"

#include "comm/agreement.hpp"
#include "engine/engine_rig.hpp"
#include "support/mpi_test.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

namespace skyline::engine {

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
    return run_in(testing::environment(), root_ / name, spec, resume);
  }
  std::string canonical(const std::string& name) { return store::canonical_journal(journal(name)); }
  std::filesystem::path journal(const std::string& name) { return store::RunPaths{root_ / name}.journal(); }
  const std::filesystem::path& root() { return root_; }

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

}  // namespace skyline::engine
