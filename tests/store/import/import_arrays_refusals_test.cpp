#include "skyline/core/random.hpp"

#include "store/fixtures/array_files.hpp"
#include "store/fixtures/gzip_text.hpp"

#include <cmath>
#include <fstream>

#include <gmock/gmock.h>
#include <hdf5.h>

namespace skyline::store {
namespace {

using skyline::testing::gzip_text;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(ImportArrays, XAndYAreThoseOfTrainingWhereNoOthersAre) {
  const Options whole{{"test", "0"}};
  write_npz(folder / "set.npz", {{"x", kTwoImages}, {"y", kTwoLabels}}, 0);
  EXPECT_THAT(read({"set.npz"}, whole)->train().classes(), ElementsAre(1, 0));
  for (const auto& [images, labels] : {std::pair("x_train", "y"), std::pair("x", "y_train")}) {
    write_npz(folder / "set.npz", {{images, kTwoImages}, {labels, kTwoLabels}}, 0);
    EXPECT_THAT(error({"set.npz"}, whole), HasSubstr("_train`, there are ")) << images;
  }
}

TEST_F(ImportArrays, TextsOfCsvFilesAreBounded) {
  write("train.csv", "1," + std::string(300, 'x') + "\n");
  EXPECT_THAT(error({"train.csv"}), HasSubstr("train.csv:1: a label of more than 255 bytes"));
  write("train.csv.gz", gzip_text("1,2\n" + std::string(std::size_t{1} << 21, ',') + "\n"));
  EXPECT_THAT(error({"train.csv.gz"}), HasSubstr("train.csv.gz:2: more than 1048576 columns"));
  write("train.csv.gz", gzip_text("1,2\n" + std::string(std::size_t{1} << 25, ' ') + "\n"));
  EXPECT_THAT(error({"train.csv.gz"}), HasSubstr("train.csv.gz:2: a line of more than 16777216 bytes"));
  std::string many;
  for (int i = 0; i < 70'000; ++i) many += "1,w" + std::to_string(i) + "\n";
  write("train.csv", many);
  EXPECT_THAT(error({"train.csv"}),
              HasSubstr("train.csv:65537: more than 65536 different labels that are words"));
}

TEST_F(ImportArrays, ValuesOfHdf5FilesThatLieElsewhereOrInHugeChunksAreRefused) {
  write("secret.txt", "1234");
  const std::filesystem::path path = folder / "set.h5";
  const auto error_with = [&](auto change) {
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    std::vector<hsize_t> dims{4, 1};
    change(creation, dims);
    const hid_t space = H5Screate_simple(2, dims.data(), nullptr);
    for (const char* name : {"x_train", "y_train"}) {
      H5Dclose(H5Dcreate2(file, name, H5T_STD_U8LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    }
    H5Sclose(space);
    H5Pclose(creation);
    H5Fclose(file);
    return error({"set.h5"});
  };
  EXPECT_THAT(error_with([&](hid_t creation, std::vector<hsize_t>& /*dims*/) {
                H5Pset_external(creation, (folder / "secret.txt").c_str(), 0, 4);
              }),
              HasSubstr("x_train: its values lie in other files: copy them into this one"));
  EXPECT_THAT(error_with([&](hid_t creation, std::vector<hsize_t>& dims) {
                const hid_t space = H5Screate_simple(2, dims.data(), nullptr);
                H5Pset_virtual(creation, space, "other.h5", "x", space);
                H5Sclose(space);
              }),
              HasSubstr("x_train: its values lie in other files"));
  EXPECT_THAT(error_with([&](hid_t creation, std::vector<hsize_t>& dims) {
                dims = {4, hsize_t{1} << 31};
                H5Pset_chunk(creation, 2, dims.data());
                dims[0] = 1;
                H5Pset_chunk(creation, 2, dims.data());
              }),
              HasSubstr("x_train: chunks of more than 1073741824 bytes"));
}

TEST_F(ImportArrays, HeadersOfNpyFilesAreReadStrictly) {
  const auto refusal = [&](const std::string& header) {
    write_pair(npy_with_header(header, "abcd"), kTwoLabels);
    return error({"set.npz"});
  };
  const std::string order = "'fortran_order': False, ";
  EXPECT_THAT(refusal("{'descr': '|O', " + order + "'shape': (2, 2), }"),
              HasSubstr("Python objects: save words"));
  EXPECT_THAT(refusal("{'descr': '<c8', " + order + "'shape': (2, 2), }"),
              HasSubstr("elements of type '<c8'"));
  EXPECT_THAT(refusal("{'descr': '|u1', " + order + "'shape': (99999999999999999, 2), }"),
              HasSubstr("larger than any array that can be read"));
  EXPECT_THAT(refusal("{'descr': '|u1', " + order + "'shape': (1000000, 1000000), }"),
              HasSubstr("its size is not what its header says"));
  for (const char* header : {"{'descr': '|u1', 'shape': (2, 2), }",
                             "{'descr': __import__('os'), 'fortran_order': False, 'shape': (2, 2), }",
                             "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2), 'more': 1}", "", "{",
                             "{'descr': '|u1', 'fortran_order': False, 'shape': (2, x), }",
                             "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2), } trailing"}) {
    EXPECT_THAT(refusal(header),
                AllOf(HasSubstr("set.npz: x_train: "), HasSubstr("not a header that NumPy writes")))
        << header;
  }
}

TEST_F(ImportArrays, NumbersThatAreNotFiniteAndPartsThatDoNotFitAreNamed) {
  write_pair(npy("<f4", "2, 2", raw_bytes<float>({1, 2, NAN, 3})), kTwoLabels);
  EXPECT_THAT(error({"set.npz"}, {{"test", "0"}}),
              HasSubstr("x_train: sample 1: a number that is not finite"));
  write_pair(kTwoImages, npy("<i8", "3,", raw_bytes<std::int64_t>({5, 3, 1})));
  EXPECT_THAT(error({"set.npz"}), HasSubstr("y_train: expected 2 targets, one for each sample, got 3"));
  write_npz(folder / "set.npz", {{"x_train", kTwoImages}, {"y_train", kTwoLabels}, {"x_test", kTwoImages}});
  EXPECT_THAT(error({"set.npz"}), HasSubstr("no array `y_test`"));
  write("set.bin", std::string("\1\0\2\0", 4));
  EXPECT_THAT(error({"set.bin"}), HasSubstr("set.bin: expected an npz, npy, IDX, HDF5 or CSV file"));
  write("data_batch_1",
        "\x80\x02}q\x01(U\x0b"
        "batch_label");
  EXPECT_THAT(error({"data_batch_1"}), HasSubstr("data_batch_1: a Python pickle, which is not read"));
  write("set.bin", "");
  EXPECT_THAT(error({"set.bin"}), HasSubstr("set.bin: the file is empty"));
}

TEST_F(ImportArrays, FilesThatUnpackToFarMoreThanTheyAreAreRefusedBeforeMemoryIsTaken) {
  const std::string zeros(1'000'000, '\0');
  const std::string header("\0\0\x08\x02\0\0\0\2\x7f\0\0\0", 12);
  write("x_train", gzip_text(header + zeros));
  write("y_train", gzip_text(header + zeros));
  EXPECT_THAT(error({"x_train", "y_train"}),
              HasSubstr("x_train: expected samples of at most 268435456 values"));
  write("x_train", std::string("\0\0\x08\x01\0\0\0\2ab", 10));
  EXPECT_THAT(error({"x_train", "y_train"}),
              HasSubstr("y_train: expected at most 268435456 targets, got 2 x 2130706432"));
  write("y_train", gzip_text(std::string("\0\0\x08\x02\0\0\0\2\0\x10\0\0", 12) + zeros));
  EXPECT_THAT(error({"x_train", "y_train"}),
              HasSubstr("y_train: expected at most 65536 targets of a sample, got 1048576"));
}

/// x_train in packed chunks, y_train in one piece, and a group with a link to them.
void write_hdf5_pair(const std::filesystem::path& path) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t packed = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t dims[] = {6, 4};
  const hsize_t chunk[] = {2, 4};
  H5Pset_chunk(packed, 2, chunk);
  H5Pset_deflate(packed, 3);
  const std::vector<std::uint8_t> pixels(24, 7);
  const std::vector<std::int64_t> labels{1, 2, 1, 2, 1, 2};
  const auto write_array = [&](const char* name, hid_t type, int rank, const void* data, hid_t creation) {
    const hid_t space = H5Screate_simple(rank, dims, nullptr);
    const hid_t array = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Dwrite(array, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    H5Dclose(array);
    H5Sclose(space);
  };
  write_array("x_train", H5T_NATIVE_UINT8, 2, pixels.data(), packed);
  write_array("y_train", H5T_NATIVE_INT64, 1, labels.data(), H5P_DEFAULT);
  H5Pclose(packed);
  H5Gclose(H5Gcreate2(file, "more", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Lcreate_soft("/x_train", file, "more/x", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
}

TEST_F(ImportArrays, MutatedFilesAreReadOrRefusedInOneLine) {
  write_pair(kTwoImages, kTwoLabels);
  write("set.csv", "a,b,c\n1,2,x\n3,4,y\n5,6,x\n");
  write("x_train.npy", kTwoImages);
  write("y_train.npy", kTwoLabels);
  RandomStream random(3);
  std::size_t refused = 0;
  write_hdf5_pair(folder / "set.h5");
  for (const char* name : {"set.npz", "set.csv", "x_train.npy", "set.h5"}) {
    std::ifstream file(folder / name, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    for (int round = 0; round < 300; ++round) {
      std::string mutated = content;
      for (std::uint64_t i = 0; i <= random.below(4); ++i) {
        mutated[random.below(mutated.size())] = static_cast<char>(random.below(256));
      }
      if (random.below(4) == 0) mutated.resize(random.below(mutated.size()));
      write(name, mutated);
      std::vector<std::string> names{name};
      if (name == std::string("x_train.npy")) names.push_back("y_train.npy");
      const std::string message = error(names);
      if (message == "(nothing was thrown)") continue;
      ++refused;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
      EXPECT_LT(message.size(), 1000U);
    }
  }
  EXPECT_GT(refused, 300U);
}

}  // namespace
}  // namespace skyline::store
