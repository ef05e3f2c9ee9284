#include "store/fixtures/array_files.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <hdf5.h>

namespace skyline::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Writes x_train [12, 2] in chunks of 4 rows that are shuffled and packed, and words of variable length in
/// y_train as `y_creation` says. @param change  what is done to x_train before the file is closed
template <typename Change>
void write_hdf5_set(const std::filesystem::path& path, hid_t y_creation, Change change,
                    hsize_t user_block = 0) {
  const hid_t file_creation = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_userblock(file_creation, user_block);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, file_creation, H5P_DEFAULT);
  H5Pclose(file_creation);
  const hsize_t dims[] = {12, 2};
  const hsize_t chunk[] = {4, 2};
  const hid_t packed = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(packed, 2, chunk);
  H5Pset_shuffle(packed);
  H5Pset_deflate(packed, 3);
  const hid_t rows = H5Screate_simple(2, dims, nullptr);
  const hid_t x = H5Dcreate2(file, "x_train", H5T_NATIVE_FLOAT, rows, H5P_DEFAULT, packed, H5P_DEFAULT);
  const std::vector<float> values(24, 1.5F);
  change(x, rows, values);
  H5Dclose(x);
  H5Sclose(rows);
  H5Pclose(packed);
  const hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, H5T_VARIABLE);
  const hid_t column = H5Screate_simple(1, dims, nullptr);
  const hid_t y = H5Dcreate2(file, "y_train", text, column, H5P_DEFAULT, y_creation, H5P_DEFAULT);
  const std::string long_word(5000, 'w');
  std::vector<const char*> words;
  for (int i = 0; i < 12; ++i) words.push_back(i % 2 == 0 ? "ant" : long_word.c_str());
  H5Dwrite(y, text, H5S_ALL, H5S_ALL, H5P_DEFAULT, words.data());
  H5Dclose(y);
  H5Sclose(column);
  H5Tclose(text);
  H5Fclose(file);
}

void write_all(hid_t array, hid_t /*rows*/, const std::vector<float>& values) {
  H5Dwrite(array, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

TEST_F(ImportArrays, WordsOfVariableLengthAreReadInPiecesAndInPackedChunksAndBehindAUserBlock) {
  const hsize_t chunk[] = {5};
  const hid_t packed = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(packed, 1, chunk);
  const hid_t chunks = H5Pcopy(packed);
  H5Pset_shuffle(packed);
  H5Pset_deflate(packed, 3);
  for (const hid_t creation : {hid_t{H5P_DEFAULT}, chunks, packed}) {
    for (const hsize_t user_block : {hsize_t{0}, hsize_t{512}}) {
      write_hdf5_set(folder / "set.h5", creation, write_all, user_block);
      const auto set = read({"set.h5"}, {{"test", "0"}});
      EXPECT_THAT(set->class_names(), ElementsAre("ant", std::string(5000, 'w')));
      EXPECT_THAT(set->train().classes(), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1));
    }
  }
  H5Pclose(chunks);
  H5Pclose(packed);
}

TEST_F(ImportArrays, ValuesOfAnHdf5FileThatWereNeverWrittenAreToldOfAndAreItsFillValue) {
  ::testing::internal::CaptureStderr();
  write_hdf5_set(folder / "set.h5", H5P_DEFAULT, [](hid_t x, hid_t rows, const std::vector<float>& values) {
    const hsize_t begin[] = {0, 0};
    const hsize_t count[] = {4, 2};
    H5Sselect_hyperslab(rows, H5S_SELECT_SET, begin, nullptr, count, nullptr);
    const hid_t memory = H5Screate_simple(2, count, nullptr);
    H5Dwrite(x, H5T_NATIVE_FLOAT, memory, rows, H5P_DEFAULT, values.data());
    H5Sclose(memory);
  });
  const auto set = read({"set.h5"}, {{"test", "0"}});
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("set.h5: x_train: values were never written, as in row 4: the fill value of the file "
                        "stands for them"));
  std::vector<float> expected(24, 0.0F);
  std::fill_n(expected.begin(), 8, 1.5F);
  EXPECT_THAT(std::get<1>(set->train().values), ::testing::ElementsAreArray(expected));
}

TEST_F(ImportArrays, AChunkOfAnHdf5FileWithFewerBytesThanItsValuesIsRefused) {
  const auto refusal = [&](unsigned left_out, const std::string& bytes) {
    write_hdf5_set(folder / "set.h5", H5P_DEFAULT,
                   [&](hid_t x, hid_t /*rows*/, const std::vector<float>& /*values*/) {
                     for (hsize_t row = 0; row < 12; row += 4) {
                       const hsize_t place[] = {row, 0};
                       H5Dwrite_chunk(x, H5P_DEFAULT, left_out, place, bytes.size(), bytes.data());
                     }
                   });
    return error({"set.h5"}, {{"test", "0"}});
  };
  EXPECT_THAT(refusal(3, std::string(15, '\0')),
              HasSubstr("x_train: damaged: a chunk has 15 bytes, expected 32"));
  const std::string packed_short("\x78\x9c\x63\x60\x40\x05\x00\x00\x10\x00\x01", 11);  // 16 zeros
  EXPECT_THAT(refusal(0, packed_short), HasSubstr("x_train: damaged: a chunk has 16 bytes, expected 32"));
  EXPECT_THAT(refusal(0, "no zlib stream"), HasSubstr("x_train: damaged: a chunk cannot be unpacked"));
}

TEST_F(ImportArrays, DamagedHeapsOfWordsAreRefused) {
  write_hdf5_set(folder / "set.h5", H5P_DEFAULT, write_all);
  const std::string whole = read_file(folder / "set.h5");
  const std::size_t heap = whole.find("GCOL");
  const auto refusal = [&](std::size_t place, char value) {
    std::string bytes = whole;
    bytes[place] = value;
    write("set.h5", bytes);
    return error({"set.h5"}, {{"test", "0"}});
  };
  EXPECT_THAT(refusal(heap, 'g'), HasSubstr("y_train: damaged: a text is not where the array says"));
  EXPECT_THAT(refusal(heap + 16, 0), HasSubstr("y_train: damaged: a text is not where the array says"));
  EXPECT_THAT(refusal(heap + 24, 2), HasSubstr("y_train: damaged: a text is not where the array says"));
  EXPECT_THAT(refusal(heap + 30, 1), HasSubstr("y_train: damaged: a heap of texts claims more than it has"));
  EXPECT_THAT(refusal(heap + 14, 1), HasSubstr("y_train: damaged: values lie outside the file"));
}

}  // namespace
}  // namespace skyline::store
