#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"
#include "skyline/core/random.hpp"

#include "core/text/foreign_text.hpp"
#include "store/arrays/preparation.hpp"
#include "store/fixtures/sample_checkpoint.hpp"
#include "store/fixtures/sample_dataset.hpp"
#include "store/fixtures/sample_run.hpp"
#include "store/fixtures/sample_weights.hpp"
#include "store/publish/publish.hpp"
#include "support/scratch_folder.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <hdf5.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace skyline::store {
namespace {

using skyline::testing::DatasetContents;
using skyline::testing::overwrite;
using skyline::testing::ScratchFolder;

/// Mutations of a file; 10,000 and more in all. SKYLINE_MUTATIONS asks for another number.
const int kMutations = [] {
  const char* const told = std::getenv("SKYLINE_MUTATIONS");
  return told != nullptr ? std::atoi(told) : 2000;
}();

/// Flips one to four bits, cuts the end off, both, or puts some bytes in.
std::string mutate(std::string bytes, RandomStream& random) {
  const std::uint64_t kind = random.below(5);
  if (kind == 4) {
    const auto place = static_cast<std::size_t>(random.below(bytes.size() + 1));
    return bytes.insert(place, static_cast<std::size_t>(1 + random.below(64)),
                        static_cast<char>(random.below(256)));
  }
  if (kind != 0) {
    for (std::uint64_t flips = 1 + random.below(4); flips > 0; --flips) {
      char& byte = bytes[static_cast<std::size_t>(random.below(bytes.size()))];
      byte = static_cast<char>(byte ^ (1 << random.below(8)));
    }
  }
  if (kind <= 1) bytes.resize(static_cast<std::size_t>(random.below(bytes.size())));
  return bytes;
}

/// Reads mutations of a file; `read_is_good` says whether what was read may be told from the original.
/// Returns how many were refused.
template <typename Read>
int refusals(const std::filesystem::path& path, std::uint64_t seed, Read read_is_good,
             int mutations = kMutations) {
  RandomStream random(seed);
  const std::string original = read_file(path);
  int refused = 0;
  for (int i = 0; i < mutations; ++i) {
    overwrite(path, mutate(original, random));
    try {
      EXPECT_TRUE(read_is_good()) << "mutation " << i;
    } catch (const UserError& error) {
      ++refused;
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
  return refused;
}

TEST(Mutations, OfAJournalAreRefusedOrLoseOnlyItsEndAndSaySo) {
  const ScratchFolder folder;
  const auto path = folder / "journal.jsonl";
  const space::SearchSpace space = skyline::testing::sample_space();
  const auto trials = skyline::testing::sample_trials(space, 12);
  JournalWriter::create(path, skyline::testing::sample_header())
      ->append(skyline::testing::shared(trials), space);
  const int refused = refusals(path, 1, [&] {
    const JournalContents contents = read_journal(path, space);
    const bool same_part = contents.entries.size() <= trials.size() &&
                           std::equal(contents.entries.begin(), contents.entries.end(), trials.begin(),
                                      [](const trial::SharedTrial& left, const trial::CommittedTrial& right) {
                                        return skyline::testing::same_trial(*left, right);
                                      }) &&
                           contents.header == skyline::testing::sample_header();
    // A cut exactly between two lines leaves a journal that is whole.
    const bool cut_at_a_line = contents.valid_bytes == std::filesystem::file_size(path);
    return same_part && (contents.entries.size() == trials.size() || contents.torn_tail || cut_at_a_line);
  });
  EXPECT_GT(refused, kMutations / 2);
}

TEST(Mutations, OfADataSetAreRefusedOrHarmless) {
  const ScratchFolder folder;
  const auto path = folder / "set.h5";
  write_dataset(path, skyline::testing::sample_contents());
  const int refused = refusals(path, 2, [&] {
    return skyline::testing::same_dataset(*Dataset::open(path, true), skyline::testing::sample_contents());
  });
  EXPECT_GT(refused, kMutations / 2);
}

TEST(Mutations, OfADataSetWithGroupsAreRefusedOrHarmless) {
  const ScratchFolder folder;
  const auto path = folder / "set.h5";
  DatasetContents contents = skyline::testing::sample_contents();
  for (std::int32_t i = 0; i < 30; ++i) contents.train.groups.push_back(i % 7);
  write_dataset(path, contents);
  const int refused =
      refusals(path, 7, [&] { return skyline::testing::same_dataset(*Dataset::open(path, true), contents); });
  EXPECT_GT(refused, kMutations / 2);
}

TEST(Mutations, OfAPreparationAreRefusedInOneLineOrRead) {
  const std::string json =
      R"({"has_names":true,"features":[{"column":"a","subtract":1e9},{"column":"b","missing":2.5},)"
      R"({"column":"b","is_missing":true},{"column":"c","is":"x"},{"column":"c","is_not":["x","y"]},)"
      R"({"column":"d","date":"month","order":"dmy"}],"targets":[{"column":"price","mean":3,"deviation":2}],)"
      R"("left_out":["who"]})";
  EXPECT_EQ(read_preparation(json).features.back().name(), "d (month)");
  const std::string of_sounds =
      R"({"sound":{"rate":16000,"length":16000,"features":"log-mel","window":480,"hop":320,"bands":40,)"
      R"("low":20.0,"high":8000.0,"fft":512},"features":[{"column":"log-mel"}]})";
  EXPECT_EQ(read_preparation(of_sounds).log_mel.value().frames(), 49);
  RandomStream random(10);
  int refused = 0;
  for (int i = 0; i < kMutations; ++i) {
    try {
      const std::string mutated = mutate(i % 2 == 0 ? json : of_sounds, random);
      EXPECT_EQ(read_preparation(mutated).features, read_preparation(mutated).features) << i;
    } catch (const UserError& error) {
      ++refused;
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(refused, kMutations / 2);
}

TEST(Mutations, OfADataSetThatIsNotVerifiedNeverCrash) {
  const ScratchFolder folder;
  const auto path = folder / "set.h5";
  write_dataset(path, skyline::testing::sample_contents());
  const int refused = refusals(path, 3, [&] {
    return Dataset::open(path, false)->shape() == skyline::testing::sample_contents().shape;
  });
  EXPECT_GT(refused, kMutations / 2);
}

TEST(Mutations, OfACheckpointArePassedOverWithOneLineOrHarmless) {
  const ScratchFolder folder;
  const RunPaths paths{folder.path()};
  std::filesystem::create_directories(paths.checkpoints());
  const TrialCheckpoint checkpoint = skyline::testing::sample_checkpoint();
  write_checkpoint(paths, checkpoint, 0);
  const int refused = refusals(paths.checkpoints() / "17.0.h5", 5, [&] {
    ::testing::internal::CaptureStderr();
    const auto found = find_checkpoint(paths, checkpoint.trial, checkpoint.provenance);
    const std::string log = ::testing::internal::GetCapturedStderr();
    if (found) return log.empty() && skyline::testing::same_checkpoint(found->checkpoint, checkpoint);
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1);
    throw UserError(log.substr(0, log.find('\n')));
  });
  EXPECT_GT(refused, kMutations / 2);
}

TEST(Mutations, OfAClaimNeverCrashItsReader) {
  const ScratchFolder folder;
  const RunPaths paths{folder.path()};
  const auto claim = RunClaim::acquire(paths);
  const std::string text = read_file(paths.owner());
  RandomStream random(6);
  for (int i = 0; i < kMutations; ++i) {
    overwrite(paths.owner(), mutate(text, random));
    const std::optional<RunOwner> owner = read_owner(paths);
    ASSERT_TRUE(owner.has_value());
  }
  overwrite(paths.owner(), text);
}

TEST(Mutations, OfWeightsAreRefusedOrHarmless) {
  const ScratchFolder folder;
  const auto path = folder / "id.h5";
  write_weights(path, skyline::testing::sample_weights());
  const int refused = refusals(path, 4, [&] {
    return skyline::testing::same_weights(read_weights(path), skyline::testing::sample_weights());
  });
  EXPECT_GT(refused, kMutations / 2);
}

}  // namespace
}  // namespace skyline::store
