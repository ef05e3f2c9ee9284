#include "skyline/core/random.hpp"

#include "gzip_text.hpp"
#include "prepared.hpp"
#include "scratch_folder.hpp"
#include "support/user_error_of.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <fstream>

#include <gmock/gmock.h>
#include <hdf5.h>
#include <minizip/zip.h>

namespace skyline::store {
namespace {

using skyline::testing::gzip_text;
using skyline::testing::Options;
using skyline::testing::overwrite;
using skyline::testing::prepared;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename T>
std::string raw_bytes(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string npy_with_header(const std::string& header, const std::string& content) {
  const std::string padded =
      header + std::string(117 - std::min<std::size_t>(header.size(), 117), ' ') + "\n";
  const auto size = static_cast<std::uint16_t>(padded.size());
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(size & 0xff) + static_cast<char>(size >> 8) +
         padded + content;
}

std::string npy(const std::string& type, const std::string& shape, const std::string& content) {
  return npy_with_header("{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }",
                         content);
}

using Entries = std::vector<std::pair<std::string, std::string>>;

/// @param level  of compression; 0: stored, as numpy.savez does
void write_npz(const std::filesystem::path& path, const Entries& entries, int level = 6) {
  std::filesystem::remove(path);
  const zipFile file = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  for (const auto& [name, content] : entries) {
    const zip_fileinfo info{};
    zipOpenNewFileInZip64(file, (name + ".npy").c_str(), &info, nullptr, 0, nullptr, 0, nullptr,
                          level == 0 ? 0 : Z_DEFLATED, level, 1);
    zipWriteInFileInZip(file, content.data(), static_cast<unsigned>(content.size()));
    zipCloseFileInZip(file);
  }
  zipClose(file, nullptr);
}

class ImportArrays : public ::testing::Test {
 protected:
  std::shared_ptr<const Dataset> read(const std::vector<std::string>& names,
                                      const Options& options = {}) const {
    std::vector<std::filesystem::path> paths;
    for (const std::string& name : names) paths.push_back(folder / name);
    return prepared("arrays", paths, out / "set.h5", options);
  }
  std::string error(const std::vector<std::string>& names, const Options& options = {}) const {
    return user_error_of([&] { read(names, options); });
  }
  void write(const std::string& name, const std::string& content) const { overwrite(folder / name, content); }
  /// x_train and y_train in set.npz.
  void write_pair(const std::string& x, const std::string& y) const {
    write_npz(folder / "set.npz", {{"x_train", x}, {"y_train", y}});
  }

  ScratchFolder folder;
  ScratchFolder out;
};

const std::string kTwoImages = npy("|u1", "2, 1, 2, 3", "abcdefABCDEF");
const std::string kTwoLabels = npy("<i8", "2,", raw_bytes<std::int64_t>({5, 3}));

TEST_F(ImportArrays, NpzFilesGivePartsOfPixelsAndClasses) {
  for (const int level : {0, 6}) {
    write_npz(folder / "set.npz",
              {{"x_train", kTwoImages},
               {"y_train", kTwoLabels},
               {"x_val", npy("|u1", "1, 1, 2, 3", "uvwxyz")},
               {"y_val", npy("|u1", "1,", "\x05")},
               {"x_test", npy("|u1", "1, 1, 2, 3", "123456")},
               {"y_test", npy("<i4", "1, 1", raw_bytes<std::int32_t>({3}))},
               {"notes", npy("|S3", "1,", "abc")}},
              level);
    const auto set = read({"set.npz"});
    EXPECT_EQ(set->shape(), (space::Shape{1, 2, 3}));
    EXPECT_THAT(set->class_names(), ElementsAre("3", "5"));
    EXPECT_THAT(set->train().pixels(),
                ElementsAre('a', 'b', 'c', 'd', 'e', 'f', 'A', 'B', 'C', 'D', 'E', 'F'));
    EXPECT_THAT(set->train().classes(), ElementsAre(1, 0));
    EXPECT_THAT(set->validation().classes(), ElementsAre(1));
    EXPECT_EQ(set->test().pixels()[0], '1');
    EXPECT_THAT(set->test().classes(), ElementsAre(0));
  }
}

TEST_F(ImportArrays, FloatsOfAnyWidthAndOrderAreFloats) {
  const std::string y = npy("<f8", "2, 1", raw_bytes<double>({0.5, -2}));
  const auto swapped = std::bit_cast<std::array<char, 4>>(1.5F);
  const std::string big(swapped.rbegin(), swapped.rend());
  struct Case {
    std::string type;
    std::string content;
  };
  for (const Case& given :
       {Case{"<f4", raw_bytes<float>({1.5F, -1, 0, 3})}, Case{"<f8", raw_bytes<double>({1.5, -1, 0, 3})},
        Case{"<f2", raw_bytes<std::uint16_t>({0x3e00, 0xbc00, 0, 0x4200})},
        Case{">f4", big + std::string("\xbf\x80\0\0\0\0\0\0\x40\x40\0\0", 12)}}) {
    write_pair(npy(given.type, "2, 2", given.content), y);
    const auto set = read({"set.npz"}, {{"test", "0"}});
    EXPECT_EQ(set->shape(), (space::Shape{2, 1, 1}));
    EXPECT_EQ(set->value_scale(), 1);
    EXPECT_THAT(std::get<1>(set->train().values), ElementsAre(1.5F, -1, 0, 3)) << given.type;
    EXPECT_THAT(std::get<2>(set->train().targets), ElementsAre(0.5F, -2.0F));
  }
}

TEST_F(ImportArrays, ChannelsAreLastOnlyIfToldAndAmbiguousDimensionsAreAskedAbout) {
  write_pair(npy("|u1", "2, 1, 2, 3", "abcdefABCDEF"), kTwoLabels);
  EXPECT_THAT(error({"set.npz"}, {{"layout", "ncl"}}),
              HasSubstr("expected 3 dimensions for this layout, got [2, 1, 2, 3]"));
  const auto last = read({"set.npz"}, {{"layout", "nhwc"}, {"test", "0"}});
  EXPECT_EQ(last->shape(), (space::Shape{3, 1, 2}));
  EXPECT_THAT(last->train().pixels().first(6), ElementsAre('a', 'd', 'b', 'e', 'c', 'f'));
  write_pair(npy("|u1", "2, 2, 1, 3", "abcdefABCDEF"), kTwoLabels);
  EXPECT_THAT(error({"set.npz"}),
              HasSubstr("x_train: [2, 2, 1, 3] may have its channels last: say --layout nhwc or nchw"));
  write_pair(npy("|u1", "2, 2, 3", "abcdefABCDEF"), kTwoLabels);
  EXPECT_THAT(error({"set.npz"}),
              HasSubstr("[2, 2, 3] may be grey images or sequences: say --layout nhw or ncl"));
  EXPECT_EQ(read({"set.npz"}, {{"layout", "nhw"}})->shape(), (space::Shape{1, 2, 3}));
  EXPECT_EQ(read({"set.npz"}, {{"layout", "ncl"}})->shape(), (space::Shape{2, 1, 3}));
  const auto lengths_first = read({"set.npz"}, {{"layout", "nlc"}, {"test", "0"}});
  EXPECT_EQ(lengths_first->shape(), (space::Shape{3, 1, 2}));
  EXPECT_THAT(lengths_first->train().pixels().first(6), ElementsAre('a', 'd', 'b', 'e', 'c', 'f'));
  EXPECT_EQ(read({"set.npz"}, {{"shape", "1x3x2"}})->shape(), (space::Shape{1, 3, 2}));
  EXPECT_THAT(error({"set.npz"}, {{"shape", "1x3x3"}}),
              HasSubstr("expected 9 values per sample for --shape 1x3x3, got 6"));
}

TEST_F(ImportArrays, TargetsAreClassesLabelsOrNumbers) {
  const std::string x = npy("<f4", "3, 1", raw_bytes<float>({1, 2, 3}));
  write_pair(x, npy("|b1", "3, 2", std::string("\1\0\0\0\1\1", 6)));
  const auto labels = read({"set.npz"}, {{"test", "0"}});
  EXPECT_THAT(std::get<1>(labels->train().targets), ElementsAre(1, 0, 0, 0, 1, 1));
  EXPECT_THAT(labels->class_names(), ElementsAre("0", "1"));
  EXPECT_THAT(error({"set.npz"}, {{"targets", "classes"}}), HasSubstr("row 1: expected a single 1"));
  write_pair(x, npy("|u1", "3, 2", std::string("\1\0\0\1\1\0", 6)));
  EXPECT_THAT(read({"set.npz"}, {{"test", "0"}, {"targets", "classes"}})->train().classes(),
              ElementsAre(0, 1, 0));
  write_pair(x, npy("|u1", "3, 2", std::string("\1\0\0\7\1\0", 6)));
  EXPECT_THAT(error({"set.npz"}), HasSubstr("expected 0 or 1 for each label, got 7"));
  write_pair(x, npy("<i2", "3,", raw_bytes<std::int16_t>({-7, 4, -7})));
  EXPECT_THAT(read({"set.npz"}, {{"test", "0"}})->class_names(), ElementsAre("-7", "4"));
  EXPECT_THAT(std::get<2>(read({"set.npz"}, {{"test", "0"}, {"targets", "numbers"}})->train().targets),
              ElementsAre(-7.0F, 4.0F, -7.0F));
}

TEST_F(ImportArrays, ATestSetIsDrawnFromEveryClassIfThereIsNone) {
  std::string pixels;
  std::vector<std::int64_t> classes;
  for (int i = 0; i < 50; ++i) {
    pixels += static_cast<char>(i);
    classes.push_back(i % 2);
  }
  write_pair(npy("|u1", "50, 1", pixels), npy("<i8", "50,", raw_bytes(classes)));
  const auto set = read({"set.npz"}, {{"validation", "0.2"}});
  EXPECT_EQ(set->train().count, 30U);
  EXPECT_EQ(std::ranges::count(set->test().classes(), 1), 5);
  EXPECT_EQ(std::ranges::count(set->validation().classes(), 1), 5);
  for (const SampleView* part : {&set->train(), &set->validation(), &set->test()}) {
    for (std::size_t i = 0; i < part->count; ++i) EXPECT_EQ(part->pixels()[i] % 2, part->classes()[i]);
  }
}

TEST_F(ImportArrays, IdxFilesOfAnyNameAreToldByName) {
  const std::string images("\0\0\x08\x03\0\0\0\2\0\0\0\2\0\0\0\2abcdABCD", 24);
  const std::string labels("\0\0\x0b\x01\0\0\0\2\1\0\2\1", 12);
  write("pictures.idx", images);
  write("kinds.idx.gz", gzip_text(labels));
  const Options named{
      {"x-train", "pictures.idx"}, {"y-train", "kinds.idx"}, {"layout", "nhw"}, {"test", "0"}};
  const auto set = read({"pictures.idx", "kinds.idx.gz"}, named);
  EXPECT_EQ(set->shape(), (space::Shape{1, 2, 2}));
  EXPECT_THAT(set->class_names(), ElementsAre("256", "513"));
  EXPECT_THAT(error({"pictures.idx", "kinds.idx.gz"}),
              HasSubstr("no array `x_train`, there are pictures.idx, kinds.idx: name it by --x-train"));
  write("pictures.idx", images.substr(0, 20));
  EXPECT_THAT(error({"pictures.idx", "kinds.idx.gz"}, named), HasSubstr("pictures.idx: truncated"));
}

TEST_F(ImportArrays, CsvFilesHaveALabelColumnByNameOrNumber) {
  write("flowers.csv", "width,\"kind, of\",height\r\n1.5,\"a, b\",2\r\n2.5,c,3\n\n-1e3,c,4");
  const auto set = read({"flowers.csv"}, {{"label", "kind, of"}, {"test", "0"}});
  EXPECT_EQ(set->shape(), (space::Shape{2, 1, 1}));
  EXPECT_THAT(std::get<1>(set->train().values), ElementsAre(1.5F, 2, 2.5F, 3, -1000, 4));
  EXPECT_THAT(set->class_names(), ElementsAre("a, b", "c"));
  EXPECT_EQ(read({"flowers.csv"}, {{"label", "2"}})->class_names(), set->class_names());
  EXPECT_THAT(error({"flowers.csv"}, {{"label", "heigth"}}),
              HasSubstr("no column `heigth`, did you mean `height`?"));
  EXPECT_THAT(error({"flowers.csv"}), HasSubstr("flowers.csv:2: column 2: expected a number, got `a, b`"));
  write("train.csv", "10;0;1\n200;255;0\n");
  write("test.csv.gz", gzip_text("1;2;1\n"));
  const auto bytes = read({"train.csv", "test.csv.gz"}, {{"shape", "1x1x2"}});
  EXPECT_THAT(bytes->train().pixels(), ElementsAre(10, 0, 200, 255)) << "whole numbers up to 255 are pixels";
  EXPECT_THAT(bytes->test().pixels(), ElementsAre(1, 2));
  write("test.csv.gz", gzip_text("1;2;7\n"));
  EXPECT_THAT(error({"train.csv", "test.csv.gz"}),
              HasSubstr("target number 0 is a class that the training set does not have"));
  write("train.csv", "1,2,3\n4,5\n");
  EXPECT_THAT(error({"train.csv"}), HasSubstr("train.csv:2: expected 3 columns, got 2"));
  write("train.csv", "1,2,0.5\n4,,0.25\n");
  EXPECT_THAT(error({"train.csv"}), HasSubstr("train.csv:2: column 2: expected a number, got ``"));
  write("train.csv", "1,2,0.5\n4,7,0.25\n");
  EXPECT_THAT(std::get<2>(read({"train.csv"}, {{"test", "0"}})->train().targets), ElementsAre(0.5F, 0.25F));
}

TEST_F(ImportArrays, CsvFilesWhoseNumbersHappenToBeWholeGoWithOthers) {
  write("train.csv", "1.5,2,a\n2.5,3,b\n");
  write("test.csv", "7,8,b\n");
  const auto set = read({"train.csv", "test.csv"});
  EXPECT_THAT(std::get<1>(set->test().values), ElementsAre(7.0F, 8.0F));
  EXPECT_THAT(set->test().classes(), ElementsAre(1));
  write("test.csv", "7,8,c\n");
  EXPECT_THAT(error({"train.csv", "test.csv"}),
              HasSubstr("`c` is a class that the training set does not have"));
  write("test.csv", "7,8,9\n");
  EXPECT_THAT(error({"train.csv", "test.csv"}),
              HasSubstr("expected words as in " + (folder / "train.csv").string()));
}

TEST_F(ImportArrays, LabelsAreWordsAsSoonAsOneIsNoNumberAndBlanksMaySeparate) {
  write("train.csv", "1 2 10\n3 4 9 \n5 6 red\n");
  const auto set = read({"train.csv"}, {{"test", "0"}});
  EXPECT_THAT(set->class_names(), ElementsAre("10", "9", "red"));
  EXPECT_THAT(set->train().classes(), ElementsAre(0, 1, 2));
  EXPECT_THAT(set->train().pixels(), ElementsAre(1, 2, 3, 4, 5, 6));
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

TEST_F(ImportArrays, Hdf5FilesAreReadWhateverTheirLayout) {
  const std::filesystem::path path = folder / "set.h5";
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t dims[] = {2, 1, 2, 3};
  const hsize_t chunk[] = {1, 1, 2, 2};
  const hid_t packed = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(packed, 4, chunk);
  H5Pset_deflate(packed, 3);
  const auto write_array = [&](const char* name, hid_t type, hid_t memory, int rank, const void* data,
                               hid_t creation) {
    const hid_t space = H5Screate_simple(rank, dims, nullptr);
    const hid_t array = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Dwrite(array, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    H5Dclose(array);
    H5Sclose(space);
  };
  const std::vector<std::uint8_t> pixels{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::vector<std::int16_t> labels{9, 8};
  write_array("pixels", H5T_STD_U8LE, H5T_NATIVE_UINT8, 4, pixels.data(), packed);
  write_array("y_train", H5T_STD_I16BE, H5T_NATIVE_INT16, 1, labels.data(), H5P_DEFAULT);
  H5Pclose(packed);
  H5Fclose(file);
  const auto set = read({"set.h5"}, {{"x-train", "pixels"}, {"layout", "nchw"}, {"test", "0"}});
  EXPECT_THAT(set->train().pixels(), ::testing::ElementsAreArray(pixels));
  EXPECT_THAT(set->train().classes(), ElementsAre(1, 0));
  EXPECT_THAT(set->class_names(), ElementsAre("8", "9"));
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
  EXPECT_THAT(refusal("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }"),
              HasSubstr("in Fortran's order"));
  EXPECT_THAT(refusal("{'descr': '|O', " + order + "'shape': (2, 2), }"), HasSubstr("elements of type '|O'"));
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

class NoiseImporter final : public Importer {
 public:
  std::string meaning() const override { return "Noise of two classes."; }
  std::string sources() const override { return "[FOLDER]"; }
  void import(const ImportSource& /*source*/, DatasetWriter& writer) const override {
    writer.describe({{1, 2, 2}, {"dark", "bright"}, "made up", 255});
    const std::vector<std::uint8_t> pixels{1, 2, 3, 4, 201, 202, 203, 204};
    const std::vector<std::int32_t> classes{0, 1};
    writer.append(Part::kTrain, {std::span(pixels), std::span(classes), classes.size()});
  }
};

TEST_F(ImportArrays, AnImporterOfOnesOwnIsOneClassAndOneLine) {
  register_importer("noise", std::make_shared<NoiseImporter>());
  const auto set = prepared("noise", {}, out / "noise.h5");
  EXPECT_THAT(set->train().pixels(), ElementsAre(1, 2, 3, 4, 201, 202, 203, 204));
  EXPECT_THAT(importer_names(), ::testing::Contains("noise"));
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
