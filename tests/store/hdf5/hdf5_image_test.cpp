#include "store/hdf5/hdf5_image.hpp"

#include "store/data/mapped_file.hpp"
#include "store/hdf5/hdf5_reader.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/temporary_file.hpp"
#include "support/scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <thread>
#include <vector>

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::fault_error_of;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;
using ::testing::MatchesRegex;

std::string joined(const FilePieces& pieces) {
  std::string file;
  for (const auto piece : pieces) file.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  return file;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(Hdf5, ArraysStandWhereTheImageSays) {
  const std::vector<double> values = {1, 2.5, -3};
  const hsize_t dims[] = {3};
  for (const std::size_t user_block : {std::size_t{0}, std::size_t{512}, std::size_t{1024}}) {
    Hdf5Image image("a.h5", {.user_block = user_block});
    image.make_group("group");
    image.refer_array("group/values", H5T_NATIVE_DOUBLE, dims, std::as_bytes(std::span(values)));
    const std::uint64_t offset = image.array_offset("group/values");
    const std::string file = joined(image.finish());
    EXPECT_EQ(file.substr(offset, 3 * sizeof(double)),
              std::string(reinterpret_cast<const char*>(values.data()), 3 * sizeof(double)));
    EXPECT_EQ(offset % 64, 0u);
    EXPECT_EQ(Hdf5Reader(bytes_of(file).subspan(user_block), "a.h5").numbers("group/values"), values);
  }
}

TEST(Hdf5, AnImageHoldsNoCopyOfTheArraysThatItRefersTo) {
  const std::vector<float> values(1 << 18, 1.5f);
  const auto bytes = std::as_bytes(std::span(values));
  const hsize_t dims[] = {values.size()};
  constexpr std::size_t kGroups = 100;
  Hdf5Image image("a.h5", {.user_block = 1024, .num_objects = 3 * kGroups});
  for (std::size_t i = 0; i < kGroups; ++i) {
    const std::string group = "layer_" + std::to_string(i);
    image.make_group(group);
    image.refer_array(group + "/weight", H5T_NATIVE_FLOAT, dims, bytes);
    image.refer_array(group + "/bias", H5T_NATIVE_FLOAT, dims, bytes);
  }
  const FilePieces pieces = image.finish();
  std::size_t referred = 0;
  std::size_t rest = 0;
  for (const auto piece : pieces) {
    if (piece.data() == bytes.data()) {
      ++referred;
    } else {
      rest += piece.size();
    }
  }
  EXPECT_EQ(referred, 2 * kGroups);
  EXPECT_LT(rest, std::size_t{1} << 19);
  const std::string file = joined(pieces);
  EXPECT_EQ(Hdf5Reader(bytes_of(file).subspan(1024), "a.h5").floats("layer_99/bias"), values);
}

TEST(Hdf5, AnImageOfMoreObjectsThanWereToldOfIsWholeToo) {
  const std::vector<float> values = {1, 2, 3};
  const hsize_t dims[] = {values.size()};
  Hdf5Image image("a.h5", {.user_block = 1024, .num_objects = 0});
  for (int i = 0; i < 100; ++i) {
    image.refer_array("x" + std::to_string(i), H5T_NATIVE_FLOAT, dims, std::as_bytes(std::span(values)));
  }
  const std::string file = joined(image.finish());
  const Hdf5Reader reader(bytes_of(file).subspan(1024), "a.h5");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(reader.floats("x" + std::to_string(i)), values);
}

TEST(Hdf5, AnErrorNamesTheFileAndTheInnermostReasonAndPrintsNothing) {
  ::testing::internal::CaptureStderr();
  EXPECT_THAT(user_error_of([] { Hdf5Reader(bytes_of("no HDF5 at all"), "a.h5"); }),
              MatchesRegex("cannot read a\\.h5: HDF5: .*signature.*"));
  const std::string file = joined(Hdf5Image("b.h5", {}).finish());
  const Hdf5Reader reader(bytes_of(file), "b.h5");
  EXPECT_THAT(user_error_of([&] { reader.numbers("none"); }), MatchesRegex("cannot read b\\.h5: HDF5: .+"));
  EXPECT_THAT(user_error_of([&] { reader.text_attribute("none"); }),
              MatchesRegex("cannot read b\\.h5: HDF5: .+"));
  // The switch that keeps the library silent is one a thread.
  std::thread([] { user_error_of([] { Hdf5Reader(bytes_of("no HDF5 at all"), "a.h5"); }); }).join();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Hdf5, AnArrayOfAnotherTypeIsNotMapped) {
  Hdf5Image image("a.h5", {});
  const hsize_t dims[] = {2};
  const float values[] = {1, 2};
  image.refer_array("x", H5T_NATIVE_FLOAT, dims, std::as_bytes(std::span(values)));
  const std::string file = joined(image.finish());
  EXPECT_EQ(user_error_of([&] { Hdf5Reader(bytes_of(file), "a.h5").array_offset("x", H5T_STD_I32LE); }),
            "cannot read a.h5: array `x` is not stored in one piece with the expected type");
}

TEST(Hdf5, AttributesReadBack) {
  Hdf5Image image("a.h5", {});
  const std::int64_t integer = -5;
  const std::uint64_t large = 0xffffffffffffffff;
  const double number = 0.1;
  image.write_attribute("/", "text", "größer");
  image.write_attribute("/", "empty", "");
  image.write_attribute("/", "long", std::string(100000, 'x'));
  image.write_attribute("/", "integer", integer);
  image.write_attribute("/", "unsigned", large);
  image.write_attribute("/", "number", number);
  const std::string file = joined(image.finish());
  const Hdf5Reader reader(bytes_of(file), "a.h5");
  EXPECT_EQ(reader.text_attribute("text"), "größer");
  EXPECT_EQ(reader.text_attribute("empty"), "");
  EXPECT_EQ(reader.text_attribute("long").size(), 100000u);
  EXPECT_EQ(reader.number_attribute<std::int64_t>("integer"), integer);
  EXPECT_EQ(reader.number_attribute<std::uint64_t>("unsigned"), large);
  EXPECT_EQ(reader.number_attribute<double>("number"), number);
}

TEST(Hdf5, TextsOfAFileReadBack) {
  const ScratchFolder folder;
  const std::vector<std::string> names = {"one", "", "größer"};
  Hdf5Image image(folder / "a.h5", {});
  image.write_texts("names", names);
  publish(folder / "a.h5", [&](TemporaryFile& file) { return file.write(image.finish(), 0); });
  const MappedFile file(folder / "a.h5");
  EXPECT_EQ(Hdf5Reader(folder / "a.h5", file.descriptor()).texts("names"), names);
}

TEST(Hdf5, AFileThatWasReplacedSinceItWasMappedIsNotReadForIt) {
  const ScratchFolder folder;
  publish_file(folder / "a.h5", joined(Hdf5Image("a.h5", {}).finish()));
  const MappedFile file(folder / "a.h5");
  publish_file(folder / "a.h5", joined(Hdf5Image("a.h5", {}).finish()));
  EXPECT_EQ(fault_error_of([&] { Hdf5Reader(folder / "a.h5", file.descriptor()); }),
            "cannot read " + (folder / "a.h5").string() +
                ": another file was published in its place just now (run again)");
}

TEST(Hdf5, NoObjectOfAnImageHoldsATime) {
  const ScratchFolder folder;
  const hsize_t dims[] = {1};
  const double values[] = {1};
  Hdf5Image image("a.h5", {});
  image.make_group("group");
  image.refer_array("group/value", H5T_NATIVE_DOUBLE, dims, std::as_bytes(std::span(values)));
  publish_file(folder / "a.h5", joined(image.finish()));
  const Hdf5File file(H5Fopen((folder / "a.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  for (const char* object : {"/", "group", "group/value"}) {
    H5O_info_t info{};
    ASSERT_GE(H5Oget_info_by_name(file.get(), object, &info, H5P_DEFAULT), 0);
    EXPECT_EQ(info.ctime, 0) << object;
  }
}

TEST(Hdf5, SeveralThreadsMayBuildImagesAtOnce) {
  std::vector<std::thread> threads;
  std::vector<std::string> files(4);
  threads.reserve(files.size());
  for (std::string& file : files) {
    threads.emplace_back([&file] {
      Hdf5Image image("same.h5", {});
      image.write_texts("names", {"a", "b"});
      file = joined(image.finish());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& file : files) EXPECT_EQ(file, files[0]);
}

/// An HDF5 file whose array `huge` says that it has so many numbers, and has none.
std::string file_that_claims(hsize_t numbers) {
  const Hdf5PropertyList access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fapl_core(access.get(), std::size_t{1} << 16, false);
  const Hdf5File file(H5Fcreate(image_name().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
  const Hdf5Space space(H5Screate_simple(1, &numbers, nullptr));
  Hdf5Dataset(
      H5Dcreate2(file.get(), "huge", H5T_NATIVE_DOUBLE, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))
      .reset();
  H5Fflush(file.get(), H5F_SCOPE_LOCAL);
  std::string bytes(static_cast<std::size_t>(H5Fget_file_image(file.get(), nullptr, 0)), '\0');
  H5Fget_file_image(file.get(), bytes.data(), bytes.size());
  return bytes;
}

TEST(Hdf5, NoMemoryIsTakenForAnArrayThatTheFileHasNoBytesFor) {
  const std::string file = file_that_claims(hsize_t{1} << 45);
  EXPECT_EQ(user_error_of([&] { Hdf5Reader(bytes_of(file), "a.h5").numbers("huge"); }),
            "cannot read a.h5: array `huge` claims 35184372088832 values, more than the file has bytes for");
}

}  // namespace
}  // namespace skyline::store
