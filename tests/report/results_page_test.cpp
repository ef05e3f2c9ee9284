#include "report/files/search_state_csv.hpp"
#include "report/files/trials_json.hpp"
#include "report/python_output.hpp"
#include "report/sample_run.hpp"
#include "store/journal/run_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skyline::report {
namespace {

TEST(ResultsPage, HasExamplesThatRunAndShowTheFront) {
  const testing::SampleRun run;
  const testing::SampleFolder folder;
  write_pareto_json(folder.paths(), run.inputs());
  write_search_state_csv(folder.paths(), run.inputs());
  store::write_run_tables(folder.paths().tables(), run.inputs().state.trials(),
                          {true, true, false, false, true, true}, run.metrics, run.space, "", {});
  const std::string page = std::string(SKYLINE_SOURCE_DIR) + "/docs/results.md";
  const std::string output =
      testing::python_output("run_page_examples.py", page + " runs/digits " + folder.paths().root.string());
  EXPECT_THAT(output, ::testing::HasSubstr("objectives.flops"));
  EXPECT_THAT(output, ::testing::HasSubstr("metrics.test_accuracy"));
  EXPECT_THAT(output, ::testing::HasSubstr("9999999999999999"));
  EXPECT_THAT(output, ::testing::EndsWith("3 examples\n"));
}

}  // namespace
}  // namespace skyline::report
