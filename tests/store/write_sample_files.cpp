// Writes one file of every format into a folder, for formats_test.py: the sample run, data set, weights and
// checkpoints of the other tests, and the run once more over a space whose parameters have names of the
// table's own columns.

#include "store/fixtures/sample_checkpoint.hpp"
#include "store/fixtures/sample_dataset.hpp"
#include "store/fixtures/sample_run.hpp"
#include "store/fixtures/sample_weights.hpp"
#include "store/journal/asked_trials.hpp"
#include "store/journal/journal.hpp"
#include "store/journal/run_tables.hpp"
#include "store/run_folder/run_folder.hpp"
#include "support/commit_log_of.hpp"

#include <exception>
#include <iostream>

namespace skyline::store {
namespace {

space::SearchSpace space_of_taken_names() {
  const std::string text =
      "parameters:\n"
      "  rank: {choice: [2, 4.5]}\n"
      "  flops: {choice: [3, 4]}\n"
      "  latency_ms: {choice: [1, 3]}\n"
      "  parameter_latency_ms: {choice: [7, 8]}\n"
      "network:\n"
      "  - conv2d: {channels: $flops, kernel: $latency_ms, padding: same}\n"
      "  - batch_norm: {epsilon: $rank}\n"
      "  - global_average_pool\n"
      "  - linear: {features: $parameter_latency_ms}\n"
      "  - linear: {features: $classes}\n";
  return space::SearchSpace::parse(skyline::testing::config_from_yaml(text, "space.yaml", "space"),
                                   {{1, 8, 8}, 10});
}

void write_run(const std::filesystem::path& path, const space::SearchSpace& space) {
  const auto trials = skyline::testing::commit_log_of(skyline::testing::sample_trials(space, 12));
  std::vector<bool> on_front(trials.size());
  on_front[1] = on_front[6] = true;
  write_run_tables(path, trials, on_front, skyline::testing::sample_header().metrics, space,
                   "run: {seed: 1}\n",
                   {{.host = "node1", .trials = 12, .train_s = 1.5, .wait_work_s = 0.5},
                    {.rank = 2, .slot = 1, .host = "node17", .wait_work_s = 2}});
}

void write_all(const std::filesystem::path& folder) {
  const RunPaths paths{folder};
  const space::SearchSpace space = skyline::testing::sample_space();
  JournalWriter::create(paths.journal(), skyline::testing::sample_header())
      ->append(skyline::testing::shared(skyline::testing::sample_trials(space, 12)), space);
  write_run(paths.tables(), space);
  write_run(folder / "taken_names.h5", space_of_taken_names());
  write_dataset(folder / "dataset.h5", skyline::testing::sample_contents());
  write_weights(folder / "weights.h5", skyline::testing::sample_weights());
  std::filesystem::create_directories(paths.checkpoints());
  write_checkpoint(paths, skyline::testing::sample_checkpoint(), 0);
  const std::vector<trial::CommittedTrial> trials = skyline::testing::sample_trials(space, 12);
  write_waiting_results(paths, 3, skyline::testing::sample_header(),
                        {{trials[7].trial.name(), trials[7]}, {trials[11].trial.name(), trials[11]}}, space);
  write_asked_trials(paths, skyline::testing::sample_header(), {trials[8].trial, trials[10].trial}, space);
}

}  // namespace
}  // namespace skyline::store

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: store_write_sample_files FOLDER\n";
    return 2;
  }
  try {
    skyline::store::write_all(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
