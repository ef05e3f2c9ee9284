#include "store/run_folder/run_tables.hpp"

#include "skyline/core/error.hpp"

#include "sample_run.hpp"
#include "scratch_folder.hpp"
#include "store/hdf5/hdf5_reader.hpp"
#include "store/publish/publish.hpp"
#include "support/user_error_of.hpp"

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::sample_space;
using skyline::testing::sample_trials;
using skyline::testing::ScratchFolder;

// formats_test.py checks the contents of the table, with h5py and pandas.
class RunTables : public ::testing::Test {
 protected:
  ScratchFolder folder;
  std::filesystem::path path = folder / "run.h5";
  space::SearchSpace space = sample_space();
  std::vector<std::string> metrics = {"validation_accuracy", "latency_ms"};
};

TEST_F(RunTables, HasARowForEveryTrial) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{17}}) {
    write_run_tables(path, sample_trials(space, count), std::vector<bool>(count), metrics, space, "seed: 1\n",
                     {{.host = "node1"}, {.slot = 1, .host = "node1", .trials = 17}});
    const std::string file = read_file(path);
    const Hdf5Reader reader(std::as_bytes(std::span(file)), path);
    EXPECT_EQ(reader.array_dims("trials"), std::vector{static_cast<std::int64_t>(count)});
    EXPECT_EQ(reader.array_dims("slots"), std::vector{std::int64_t{2}});
    EXPECT_EQ(reader.text_attribute("format"), "skyline-run");
    EXPECT_EQ(reader.text_attribute("config"), "seed: 1\n");
  }
}

TEST_F(RunTables, EqualRunsAreEqualFiles) {
  const auto trials = sample_trials(space, 5);
  write_run_tables(path, trials, std::vector<bool>(5), metrics, space, "", {});
  const std::string first = read_file(path);
  write_run_tables(path, trials, std::vector<bool>(5), metrics, space, "", {});
  EXPECT_EQ(read_file(path), first);
}

TEST_F(RunTables, NeedsAFlagForEveryTrial) {
  EXPECT_THROW(write_run_tables(path, sample_trials(space, 2), {true}, metrics, space, "", {}),
               InternalError);
}

}  // namespace
}  // namespace skyline::store
