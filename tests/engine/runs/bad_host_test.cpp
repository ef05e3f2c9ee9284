#include "engine/fixtures/shared_run_test.hpp"
#include "support/yaml_config.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skyline::engine {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using trial::Failure;
using trial::FailureKind;

/// The ranks of the test, as if on other hosts.
class RenamedHosts final : public comm::Environment {
 public:
  explicit RenamedHosts(std::vector<std::string> hosts) : Environment(testing::environment().launch()) {
    place_ = testing::environment().place();
    description_ = testing::environment().describe();
    hosts_ = std::move(hosts);
  }
  comm::Communicator& world() override { return testing::environment().world(); }
  bool threads_may_communicate() const override { return testing::environment().threads_may_communicate(); }
  std::unique_ptr<comm::Mailbox> make_mailbox() override { return testing::environment().make_mailbox(); }
  std::unique_ptr<comm::Link> make_link(std::size_t most_bytes) override {
    return testing::environment().make_link(most_bytes);
  }
  [[noreturn]] void abort(int exit_code) override {
    testing::environment().abort(exit_code);
    std::abort();  // the compiler does not know that the line above is the end
  }
};

class BadHostTest : public BothWaysTest {
 protected:
  /// A run with these hosts by rank.
  RigRun run_on(std::vector<std::string> hosts, const std::string& name, RunSpec spec) {
    spec.options.dispatch = dispatch();
    RenamedHosts environment(std::move(hosts));
    return run_in(environment, root() / name, spec);
  }
  /// Each rank has a host of its own.
  std::vector<std::string> own_hosts() {
    std::vector<std::string> hosts;
    for (int each = 0; each < size(); ++each) hosts.push_back("h" + std::to_string(each));
    return hosts;
  }
  static RunSpec random_spec() {
    RunSpec spec = evolution_spec();
    spec.search = testing::config_from_yaml("{algorithm: random, trials: 20}");
    return spec;
  }
  /// Trials fail on the hosts of these ranks, and end nowhere else before five have failed there.
  HookedEvaluator::Hook bad(const std::set<int>& bad_ranks, const std::string& name) {
    const fs::path marks = root() / (name + ".marks");
    fs::create_directories(marks);
    return [is_bad = bad_ranks.contains(rank()), marks](const trial::Trial& trial) {
      if (is_bad) {
        std::ofstream{marks / to_text(trial.name())};
        throw Failure{FailureKind::kProgram, "exit code 1"};
      }
      constexpr std::ptrdiff_t kFailures = 5;
      while (std::distance(fs::directory_iterator(marks), {}) < kFailures) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    };
  }
  /// Returns the failed tries that did not count, by trial.
  std::map<std::string, std::vector<std::string>> hosts_of_failures(const std::string& name) {
    std::map<std::string, std::vector<std::string>> hosts;
    std::ifstream lines(journal(name));
    for (std::string line; std::getline(lines, line);) {
      const auto entry = nlohmann::json::parse(line);
      if (!entry.contains("where")) continue;
      for (const auto& failed : entry["where"].value("failed_tries", nlohmann::json::array())) {
        EXPECT_EQ(failed["reason"], "exit code 1");
        hosts[entry["k"].dump()].push_back(failed["host"]);
      }
    }
    return hosts;
  }
};

TEST_P(BadHostTest, FailsNoTrialAndGetsNoMore) {
  const int last = size() - 1;
  for (const std::string name : {"generation", "window", "coordinator"}) {
    RunSpec spec = random_spec();
    if (name == "window") spec.options.window = 12;
    const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
    spec.options.coordinator_only = name == "coordinator";
    if (size() < (name == "coordinator" ? 3 : 2)) continue;
    spec.hook = bad({last}, name);
    const RigRun all = run_on(own_hosts(), name, spec);
    if (rank() != 0) continue;
    EXPECT_EQ(canonical(name), expected);
    const std::string host = "h" + std::to_string(last);
    const auto failures = hosts_of_failures(name);
    EXPECT_GE(failures.size(), 5U);
    for (const auto& [trial, hosts] : failures) EXPECT_THAT(hosts, ElementsAre(host)) << trial;
    ASSERT_EQ(all.result.retired.size(), 1U);
    EXPECT_EQ(all.result.retired.begin()->first, host);
    EXPECT_TRUE(all.result.retired.begin()->second.starts_with("has failed its last ")) << host;
  }
}

TEST_P(BadHostTest, IsNoneWhereTrialsFailByTheirArchitecture) {
  for (const std::string name : {"generation", "window"}) {
    RunSpec spec = evolution_spec();
    if (name == "window") spec.options.window = 5;
    const auto fail = [](const trial::Trial& trial) {
      if (static_cast<std::uint64_t>(trial.architecture().id) % 2 == 0)
        throw Failure{FailureKind::kProgram, "exit code 1"};
    };
    spec.hook = fail;
    const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
    spec.hook = [fail, delay = shuffling_delay()](const trial::Trial& trial) {
      delay(trial);
      fail(trial);
    };
    const RigRun all = run_on(own_hosts(), name, spec);
    if (rank() != 0) continue;
    EXPECT_EQ(canonical(name), expected);
    EXPECT_TRUE(all.result.retired.empty());
    for (const auto& [trial, hosts] : hosts_of_failures(name)) {
      EXPECT_THAT(hosts, SizeIs(1)) << "a second host settles trial " << trial;
    }
  }
}

TEST_P(BadHostTest, IsNoReasonToGoOnWhereAllHostsAreBad) {
  RunSpec spec = random_spec();
  spec.options.most_failures = 6;
  spec.hook = [](const trial::Trial&) { throw Failure{FailureKind::kProgram, "exit code 1"}; };
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  const RigRun all = run_on(own_hosts(), "all", spec);
  if (rank() != 0) return;
  EXPECT_EQ(canonical("all"), expected);
  EXPECT_EQ(all.result.finish_reason, "the first 6 trials all failed (run.most_failures)");
  EXPECT_TRUE(all.result.retired.empty());
  const auto failures = hosts_of_failures("all");
  EXPECT_THAT(failures, SizeIs(size() == 1 ? 0 : 6));
  for (const auto& [trial, hosts] : failures) EXPECT_THAT(hosts, SizeIs(1)) << trial;
}

TEST_P(BadHostTest, GetsNoSecondTryOfATrialThatThrewThere) {
  if (size() != 3) return;
  RunSpec spec = random_spec();
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  spec.hook = [is_bad = rank() > 0](const trial::Trial&) {
    if (is_bad) throw std::runtime_error("no driver");
  };
  const RigRun all = run_on({"good", "bad", "bad"}, "thrown", spec);
  if (rank() != 0) return;
  EXPECT_EQ(canonical("thrown"), expected);
}

TEST_P(BadHostTest, FailsNoTrialThatDiesOnAGoodHostBeforeOrAfterIt) {
  if (size() != 2) return;
  RunSpec spec = random_spec();
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  std::mutex mutex;
  std::set<std::string> killed;
  spec.hook = [&, is_bad = rank() > 0](const trial::Trial& trial) {
    if (is_bad) throw Failure{FailureKind::kProgram, "exit code 1"};
    const std::lock_guard lock(mutex);
    if (killed.insert(to_text(trial.name())).second) throw Failure{FailureKind::kException, "SIGKILL"};
  };
  const RigRun all = run_on(own_hosts(), "killed", spec);
  if (rank() != 0) return;
  EXPECT_EQ(canonical("killed"), expected);
}

TEST_P(BadHostTest, FailsATrialThatFillsADiskAloneAndLeavesNoneUnfinished) {
  RunSpec spec = random_spec();
  spec.hook = [](const trial::Trial& trial) {
    if (trial.number == 3) throw Failure{FailureKind::kFilledStorage, "its folder filled the disk"};
  };
  const RigRun all = run_on(own_hosts(), "filled", spec);
  if (rank() != 0) return;
  EXPECT_EQ(std::ranges::count_if(
                all.result.committed,
                [](const auto& each) { return std::holds_alternative<trial::Failure>(each.outcome); }),
            1);
  EXPECT_EQ(all.result.unsaved, 0U);
}

TEST_P(BadHostTest, FailsNoTrialOfAGroupThatAnotherHostHasRoomFor) {
  if (size() != 4) return;
  RunSpec spec = random_spec();
  spec.members = [](const trial::Trial&) { return 2; };
  const std::string expected = rank() == 0 ? canonical_of_one_process(spec) : "";
  spec.hook = bad({2, 3}, "group");
  const RigRun all = run_on({"a", "a", "b", "b"}, "group", spec);
  if (rank() != 0) return;
  EXPECT_EQ(canonical("group"), expected);
  for (const auto& [trial, hosts] : hosts_of_failures("group")) EXPECT_THAT(hosts, ElementsAre("b")) << trial;
  EXPECT_TRUE(all.result.retired.contains("b"));
}

INSTANTIATE_TEST_SUITE_P(Runs, BadHostTest, both_ways(), name_of_way);

}  // namespace
}  // namespace skyline::engine
