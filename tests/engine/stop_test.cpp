#include "engine/shared_run_test.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::engine {
namespace {

using objective::Phase;
using objective::Trial;
using objective::TrialNumber;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

class StopTest : public SharedRunTest {
 protected:
  /// Trials that `held` names begin to wait, and the asking ranks want to stop as soon as one does.
  RigRun stopped_run(const std::string& name, RunSpec spec, const std::vector<int>& asking,
                     const HookedEvaluator::Held& held) {
    const std::filesystem::path mark = root() / (name + ".held");
    spec.held = [held, mark](const Trial& trial) {
      if (held(trial)) std::ofstream{mark};
      return held(trial);
    };
    if (std::ranges::count(asking, rank()) > 0) {
      spec.stop_requested = [mark] { return std::filesystem::exists(mark); };
    }
    return run(name, spec);
  }

  /// Numbers from all ranks, ascending; on rank 0.
  std::vector<TrialNumber> gathered(const std::vector<TrialNumber>& numbers) {
    std::string text;
    for (const TrialNumber number : numbers) text += std::to_string(number) + ' ';
    std::vector<TrialNumber> all;
    for (const std::string& line : comm::gather_texts(world(), text, 0)) {
      std::istringstream words(line);
      std::copy(std::istream_iterator<TrialNumber>(words), {}, std::back_inserter(all));
    }
    std::ranges::sort(all);
    return all;
  }
};

TEST_F(StopTest, EndsInTheMiddleWhicheverRanksAskForIt) {
  const std::string expected = rank() == 0 ? canonical_of_one_process(evolution_spec()) : "";
  std::vector<int> all_ranks;
  for (int i = 0; i < size(); ++i) all_ranks.push_back(i);
  const std::vector<std::vector<int>> askers = {{0}, {size() - 1}, all_ranks};
  for (std::size_t i = 0; i < askers.size(); ++i) {
    const std::string name = "asked_" + std::to_string(i);
    RunSpec spec = evolution_spec();
    spec.options.slots = 2;
    const RigRun first = stopped_run(name, spec, askers[i], [](const Trial& t) { return t.number == 8; });
    const std::vector<TrialNumber> done = gathered(first.completed);
    if (rank() == 0) {
      EXPECT_TRUE(first.result.stopped);
      EXPECT_EQ(first.result.finish_reason, "stopped on request");
      EXPECT_LE(first.result.committed.size(), 8U);
      EXPECT_EQ(first.observer.stops, 1);
      EXPECT_EQ(canonical(name), expected.substr(0, canonical(name).size()));
    }
    spec.options.slots = 1;
    const RigRun rest = run(name, spec, true);
    if (rank() != 0) continue;
    EXPECT_FALSE(rest.result.stopped);
    EXPECT_EQ(rest.observer.stops, 0);
    EXPECT_EQ(canonical(name), expected);
  }
}

}  // namespace
}  // namespace skyline::engine
