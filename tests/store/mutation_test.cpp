#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"
#include "skyline/store/publish.hpp"

#include "sample_dataset.hpp"
#include "sample_run.hpp"
#include "sample_weights.hpp"
#include "scratch_folder.hpp"

#include <optional>

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::overwrite;
using skyline::testing::ScratchFolder;

constexpr int kMutations = 2000;

/// Flips one to four bits, cuts the end off, or both.
std::string mutate(std::string bytes, RandomStream& random) {
  const std::uint64_t kind = random.below(4);
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
int refusals(const std::filesystem::path& path, std::uint64_t seed, Read read_is_good) {
  RandomStream random(seed);
  const std::string original = read_file(path);
  int refused = 0;
  for (int i = 0; i < kMutations; ++i) {
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
  JournalWriter::create(path, skyline::testing::sample_header())->append(trials, space);
  const int refused = refusals(path, 1, [&] {
    const JournalContents contents = read_journal(path, space);
    const bool same_part = contents.entries.size() <= trials.size() &&
                           std::equal(contents.entries.begin(), contents.entries.end(), trials.begin(),
                                      skyline::testing::same_trial) &&
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

TEST(Mutations, OfADataSetThatIsNotVerifiedNeverCrash) {
  const ScratchFolder folder;
  const auto path = folder / "set.h5";
  write_dataset(path, skyline::testing::sample_contents());
  const int refused = refusals(path, 3, [&] {
    return Dataset::open(path, false)->shape() == skyline::testing::sample_contents().shape;
  });
  EXPECT_GT(refused, kMutations / 2);
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
