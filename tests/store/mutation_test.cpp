#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"
#include "skyline/core/random.hpp"

#include "core/text/foreign_text.hpp"
#include "store/arrays/preparation.hpp"
#include "store/fixtures/array_files.hpp"
#include "store/fixtures/image_files.hpp"
#include "store/fixtures/sample_checkpoint.hpp"
#include "store/fixtures/sample_dataset.hpp"
#include "store/fixtures/sample_run.hpp"
#include "store/fixtures/sample_weights.hpp"
#include "store/fixtures/scratch_folder.hpp"
#include "store/publish/publish.hpp"

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

/// Mutations of sources, each of which is prepared as a data set.
class SourceMutations : public ImportArrays {
 protected:
  static constexpr int kShare = 10;  // of the mutations, since these take longer
  int refused_of(const std::string& name, std::uint64_t seed, const Options& options,
                 const std::optional<std::string>& expected_hash) const {
    return refusals(
        folder / name, seed,
        [&] {
          ::testing::internal::CaptureStderr();  // the log tells of guesses
          std::string hash;
          std::optional<UserError> refusal;
          try {
            hash = read({name}, options)->content_hash();
          } catch (const UserError& error) {
            refusal = error;
          }
          ::testing::internal::GetCapturedStderr();
          if (refusal) throw UserError(*refusal);
          if (expected_hash) return hash == *expected_hash;
          return read({name}, options)->content_hash() == hash;
        },
        kMutations / kShare);
  }
};

TEST_F(SourceMutations, OfAnNpzFileAreRefusedOrHarmless) {
  write_npz(folder / "set.npz", {{"x_train", npy("<f4", "6, 2", raw_bytes(std::vector<float>(12, 1.5F)))},
                                 {"y_train", npy("|S3", "6,", "antbeeantbeeantbee")},
                                 {"patient", npy("<i8", "6,", raw_bytes<std::int64_t>({1, 1, 2, 2, 3, 3}))}});
  const Options options{{"group", "patient"}};
  const std::string hash = read({"set.npz"}, options)->content_hash();
  EXPECT_GT(refused_of("set.npz", 8, options, hash), kMutations / kShare / 2);
}

TEST_F(SourceMutations, OfATableAreRefusedOrGiveOneDataSet) {
  std::string rows = "who,size,\"near, by\",when,label\n";
  for (int i = 0; i < 24; ++i) {
    rows += "p" + std::to_string(i / 4) + "," + (i % 5 == 0 ? "NA" : std::to_string(i) + ".5") + "," +
            (i % 3 == 0 ? "\"the \"\"bay\"\"\"" : "sea") + ",160000000" + std::to_string(i % 10) + "," +
            (i % 2 == 0 ? "yes" : "no") + "\n";
  }
  write("train.csv", rows);
  const int refused = refused_of("train.csv", 9, {{"group", "who"}}, std::nullopt);
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, kMutations / kShare);
}

/// Writes an HDF5 file as other programs do: packed chunks, texts of variable length, a soft link, and
/// letters as MATLAB stores them.
void write_foreign_hdf5(const std::filesystem::path& path) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const auto write = [&](const char* name, hid_t type, std::vector<hsize_t> dims, const void* data,
                         hid_t creation) {
    const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
    const hid_t array = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Dwrite(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    H5Sclose(space);
    return array;
  };
  const hid_t packed = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t chunk[] = {4, 2};
  H5Pset_chunk(packed, 2, chunk);
  H5Pset_deflate(packed, 3);
  const std::vector<float> values(36, 1.5F);
  H5Dclose(write("values", H5T_NATIVE_FLOAT, {12, 3}, values.data(), packed));
  H5Lcreate_soft("/values", file, "x_train", H5P_DEFAULT, H5P_DEFAULT);
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, H5T_VARIABLE);
  std::vector<const char*> words;
  for (int i = 0; i < 12; ++i) words.push_back(i % 2 == 0 ? "ant" : "bee");
  H5Dclose(write("y_train", text, {12}, words.data(), H5P_DEFAULT));
  std::vector<std::uint16_t> letters;  // 12 rows of 2 letters, the first letters first
  for (int i = 0; i < 24; ++i) letters.push_back(static_cast<std::uint16_t>('a' + i % 12 / 3));
  const hid_t group = write("group", H5T_NATIVE_UINT16, {2, 12}, letters.data(), H5P_DEFAULT);
  const hid_t name = H5Tcopy(H5T_C_S1);
  H5Tset_size(name, 4);
  const hid_t scalar = H5Screate(H5S_SCALAR);
  const hid_t attribute = H5Acreate2(group, "MATLAB_class", name, scalar, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(attribute, name, "char");
  H5Aclose(attribute);
  H5Sclose(scalar);
  for (const hid_t type : {name, text}) H5Tclose(type);
  H5Dclose(group);
  H5Pclose(packed);
  H5Fclose(file);
}

/// Runs a function in a process of its own, without its messages. Returns its exit code, or -1 if a signal
/// ended it.
template <typename Function>
int exit_code_of(Function function) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(STDERR_FILENO);
    ::open("/dev/null", O_WRONLY);
    ::alarm(120);  // ends it if it hangs
    ::_exit(function());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The HDF5 library crashes on some of these.
TEST_F(SourceMutations, OfAnHdf5FileOfOthersAreRefusedOrGiveOneDataSetAndNeverCrash) {
  write_foreign_hdf5(folder / "set.h5");
  const std::string original = read_file(folder / "set.h5");
  RandomStream random(12);
  int refused = 0;
  for (int i = 0; i < kMutations / kShare; ++i) {
    write("set.h5", mutate(original, random));
    const int code = exit_code_of([&] {
      try {
        const Options options{{"group", "group"}};
        const std::string hash = read({"set.h5"}, options)->content_hash();
        return read({"set.h5"}, options)->content_hash() == hash ? kExitDone : kExitBug;
      } catch (const UserError&) {
        return kExitUserError;
      }
    });
    EXPECT_TRUE(code == kExitDone || code == kExitUserError) << i << ": " << code;
    refused += code == kExitUserError ? 1 : 0;
  }
  EXPECT_GT(refused, kMutations / kShare / 10);
  EXPECT_LT(refused, kMutations / kShare);
}

/// Makes folders in folders with names as people and systems give them, and puts images and other files
/// there.
void fill(const std::filesystem::path& folder, RandomStream& random, int depth) {
  const auto one_of = [&](const std::vector<std::string>& names) {
    return names[random.below(names.size())];
  };
  for (std::uint64_t folders = 1 + random.below(4); folders > 0; --folders) {
    const auto below =
        folder / one_of({"train", "Training", "test", "val", "seg_test", "TestSet", "cat", "dog", "0", "1",
                         "test tube", "__MACOSX", ".hidden", "data", "caf\xe9", "a\nb"});
    std::filesystem::create_directories(below);
    if (depth < 2 && random.below(5) < (depth == 0 ? 3U : 1U)) fill(below, random, depth + 1);
    for (std::uint64_t files = random.below(6); files > 0; --files) {
      const auto path = below / one_of({"0.png", "1.PNG", "2.pgm", "3.jpg", "4.txt", "Thumbs.db", ".DS_Store",
                                        "5", "\xff.png"});
      if (std::filesystem::exists(std::filesystem::symlink_status(path))) continue;
      const std::string image =
          skyline::testing::png_file(skyline::testing::make_image(1, 4, 4 + random.below(2), 1));
      switch (random.below(20)) {
        case 0:
          ::mkfifo(path.c_str(), 0600);
          break;
        case 1:
          std::filesystem::create_symlink(one_of({"..", "/nowhere", "0.png"}), path);
          break;
        case 2:
          std::filesystem::create_directories(path);
          break;
        default:
          overwrite(path, random.below(3) == 0 ? mutate(image, random)
                                               : one_of({image, "P2 1 1 9 7", "GIF89a", "notes"}));
      }
    }
  }
}

TEST(Mutations, OfFoldersAreRefusedOrGiveOneDataSet) {
  const ScratchFolder out;
  RandomStream random(13);
  int taken = 0;
  for (int i = 0; i < kMutations / 10; ++i) {
    const ScratchFolder folder;
    fill(folder.path(), random, 0);
    const Options options = random.below(2) == 0 ? Options{{"size", "4"}} : Options{{"test", "0"}};
    const auto hash = [&] {
      return skyline::testing::prepared("images", {folder.path()}, out / "set.h5", options)->content_hash();
    };
    ::testing::internal::CaptureStderr();
    std::string refusal;
    try {
      EXPECT_EQ(hash(), hash()) << i;
      ++taken;
    } catch (const UserError& error) {
      refusal = error.what();
    }
    ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(std::ranges::count(printable(refusal), '\n'), 0) << refusal;
  }
  EXPECT_GT(taken, 0);
}

TEST(Mutations, OfAPreparationAreRefusedOrReadAsTheyAreWritten) {
  Preparation preparation;
  preparation.features = {{.column = "a", .subtract = 1e9},
                          {.column = "b", .missing = 2.5},
                          {.column = "b", .is_missing = true},
                          {.column = "c", .is = "x"},
                          {.column = "c", .is_not = {"x", "y"}}};
  preparation.targets = {{"price", 3, 2}};
  preparation.left_out = {"who"};
  const std::string json = to_json(preparation);
  RandomStream random(10);
  int refused = 0;
  for (int i = 0; i < kMutations; ++i) {
    try {
      const std::string read = to_json(read_preparation(mutate(json, random)));
      EXPECT_EQ(to_json(read_preparation(read)), read) << i;
    } catch (const UserError& error) {
      ++refused;
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(refused, kMutations / 2);
}

TEST(Mutations, OfImagesAreRefusedOrHaveAsManyPixelsAsTheySay) {
  using skyline::testing::make_image;
  const std::string deep = "P5 3 2 65535\n" + std::string("\0\1\0\2\3\0\xff\xff\1\1\7\7", 12);
  const std::string files[] = {skyline::testing::png_file(make_image(3, 9, 7, 1)),
                               skyline::testing::raw_png(2, 2, 16, 2, std::string(26, '\0')),
                               skyline::testing::jpeg_file(make_image(1, 9, 7, 2)),
                               skyline::testing::jpeg_file(make_image(4, 9, 7, 3)),
                               skyline::testing::webp_file(make_image(3, 9, 7, 4)),
                               deep,
                               "P3 2 1 255 1 2 3 4 5 6\n"};
  RandomStream random(11);
  for (const std::string& file : files) {
    int refused = 0;
    for (int i = 0; i < kMutations; ++i) {
      try {
        const Image image = decode_image(mutate(file, random));
        EXPECT_EQ(image.pixels.size(), image.channels * image.height * image.width) << i;
      } catch (const UserError& error) {
        ++refused;
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      }
    }
    EXPECT_GT(refused, kMutations / 10);
  }
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
  const auto claim = RunClaim::take(paths);
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
