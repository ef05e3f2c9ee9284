#include "store/fixtures/array_files.hpp"
#include "store/fixtures/gzip_text.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <hdf5.h>

namespace skyline::store {
namespace {

using skyline::testing::gzip_text;
using skyline::testing::prepared;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
              HasSubstr("x_train: [2, 2, 1, 3] may have its channels last: say --layout=nhwc or nchw"));
  write_pair(npy("|u1", "2, 2, 3", "abcdefABCDEF"), kTwoLabels);
  EXPECT_THAT(error({"set.npz"}),
              HasSubstr("[2, 2, 3] may be grey images or sequences: say --layout=nhw, ncl or nlc"));
  EXPECT_EQ(read({"set.npz"}, {{"layout", "nhw"}})->shape(), (space::Shape{1, 2, 3}));
  EXPECT_EQ(read({"set.npz"}, {{"layout", "ncl"}})->shape(), (space::Shape{2, 1, 3}));
  const auto lengths_first = read({"set.npz"}, {{"layout", "nlc"}, {"test", "0"}});
  EXPECT_EQ(lengths_first->shape(), (space::Shape{3, 1, 2}));
  EXPECT_THAT(lengths_first->train().pixels().first(6), ElementsAre('a', 'd', 'b', 'e', 'c', 'f'));
  EXPECT_EQ(read({"set.npz"}, {{"shape", "1x3x2"}})->shape(), (space::Shape{1, 3, 2}));
  EXPECT_THAT(error({"set.npz"}, {{"shape", "1x3x3"}}),
              HasSubstr("expected 9 values per sample for --shape=1x3x3, got 6"));
}

TEST_F(ImportArrays, SequencesAreAskedAboutAndNotTakenForManyChannels) {
  const std::string y = npy("<f4", "1,", raw_bytes<float>({5.5F}));
  const auto write_x = [&](const std::string& shape, std::size_t values) {
    write_pair(npy("<f4", "1, " + shape, raw_bytes(std::vector<float>(values, 1.5F))), y);
  };
  const Options whole{{"test", "0"}};
  write_x("36", 36);
  EXPECT_THAT(error({"set.npz"}, whole),
              HasSubstr("[1, 36] may be features or sequences: say --layout=nf or nl, or "
                        "--shape=1x6x6 if they are flat images"));
  EXPECT_EQ(read({"set.npz"}, {{"test", "0"}, {"layout", "nf"}})->shape(), (space::Shape{36, 1, 1}));
  EXPECT_EQ(read({"set.npz"}, {{"test", "0"}, {"layout", "nl"}})->shape(), (space::Shape{1, 1, 36}));
  EXPECT_EQ(read({"set.npz"}, {{"test", "0"}, {"shape", "2x18"}})->shape(), (space::Shape{2, 1, 18}));
  for (const char* shape : {"36", "2x", "x18", "2x18x1x1", "2x18x", "2 x 18"})
    EXPECT_THAT(error({"set.npz"}, {{"shape", shape}}), HasSubstr("--shape: expected CHANNELSxHEIGHTxWIDTH"))
        << shape;
  write_x("50, 3", 150);
  EXPECT_THAT(error({"set.npz"}, whole), HasSubstr("[1, 50, 3] may be grey images or sequences"));
  write_x("1, 50", 50);
  EXPECT_EQ(read({"set.npz"}, whole)->shape(), (space::Shape{1, 1, 50}));
  write_x("32", 32);
  EXPECT_EQ(read({"set.npz"}, whole)->shape(), (space::Shape{32, 1, 1}));
  write_x("10, 10, 5", 500);
  EXPECT_THAT(error({"set.npz"}, whole), HasSubstr("[1, 10, 10, 5] may have its channels last"));
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

TEST_F(ImportArrays, TheLastSamplesMayBeTheTestSet) {
  write_pair(npy("|u1", "10, 1", "abcdefghij"), npy("|u1", "10,", std::string("\0\1\0\1\0\1\0\1\1\1", 10)));
  const auto text = [](const SampleView& samples) {
    return std::string(samples.pixels().begin(), samples.pixels().end());
  };
  const auto set = read({"set.npz"}, {{"split", "last"}, {"validation", "0.3"}});
  EXPECT_EQ(text(set->train()) + "|" + text(set->validation()) + "|" + text(set->test()), "abcde|fgh|ij");
  EXPECT_EQ(text(read({"set.npz"}, {{"split", "last"}})->test()), "ij");
  EXPECT_EQ(read({"set.npz"}, {{"split", "last"}, {"test", "0"}})->train().count, 10U);
  const auto ordered = read({"set.npz"}, {{"split", "last"}});
  EXPECT_TRUE(ordered->in_time_order());
  EXPECT_THAT(split_dataset(*ordered, 0.25, std::nullopt, 1).validation, ElementsAre(6, 7));
  EXPECT_EQ(split_dataset(*ordered, 0.25, std::nullopt, 1).train.size(), 6U);
  EXPECT_FALSE(read({"set.npz"})->in_time_order());
  EXPECT_THAT(error({"set.npz"}, {{"split", "first"}}), HasSubstr("`drawn` or `last`"));
  write_pair(npy("|u1", "10, 1", "abcdefghij"), npy("|u1", "10,", std::string("\0\0\0\0\0\0\0\0\1\1", 10)));
  EXPECT_THAT(
      error({"set.npz"}, {{"split", "last"}}),
      HasSubstr(
          "y_train: 1 of the classes without a sample to train on, since the last 20 % are the test set"));
}

TEST_F(ImportArrays, SamplesOfOneGroupStayInOnePart) {
  std::string pixels;
  std::vector<std::int64_t> labels;
  std::vector<std::int64_t> patients;
  std::string words;
  for (int i = 0; i < 40; ++i) {
    pixels += static_cast<char>(i % 10);  // the group
    labels.push_back(i / 10 % 2);
    patients.push_back(100 + i % 10);
    words += std::string("p") + static_cast<char>('a' + i % 10);
  }
  const Entries pair{{"x_train", npy("|u1", "40, 1, 1, 1", pixels)},
                     {"y_train", npy("<i8", "40,", raw_bytes(labels))}};
  for (const auto& [name, array] : Entries{
           {"numbers", npy("<i8", "40,", raw_bytes(patients))},
           {"column", npy("<i8", "40, 1", raw_bytes(patients))},
           {"floats", npy("<f8", "40,", raw_bytes(std::vector<double>(patients.begin(), patients.end())))},
           {"words", npy("|S2", "40,", words)}}) {
    Entries entries = pair;
    entries.emplace_back(name, array);
    write_npz(folder / "set.npz", entries);
    const auto set = read({"set.npz"}, {{"group", name}, {"validation", "0.1"}});
    EXPECT_EQ(set->test().count, 8U) << name;
    EXPECT_EQ(set->validation().count, 4U) << name;
    std::map<std::uint8_t, std::set<int>> parts;
    const SplitIndices split = split_dataset(*set, 0.3, std::nullopt, 1);
    for (const std::int64_t i : split.train)
      parts[set->train().pixels()[static_cast<std::size_t>(i)]].insert(0);
    for (const std::int64_t i : split.validation)
      parts[set->train().pixels()[static_cast<std::size_t>(i)]].insert(1);
    for (const std::uint8_t group : set->test().pixels()) parts[group].insert(2);
    for (const std::uint8_t group : set->validation().pixels()) parts[group].insert(3);
    EXPECT_EQ(parts.size(), 10U);
    for (const auto& [group, of_group] : parts) EXPECT_EQ(of_group.size(), 1U) << name << ' ' << int{group};
    EXPECT_THAT(error({"set.npz"}, {{"group", name}, {"split", "last"}}), HasSubstr("exclude each other"));
  }
}

TEST_F(ImportArrays, GroupsThatCannotBeKeptTogetherAreRefused) {
  const auto groups = [&](const std::string& array, const Options& options = {}) {
    write_npz(folder / "set.npz", {{"x_train", npy("|u1", "4, 1, 1, 1", "abcd")},
                                   {"y_train", npy("<i8", "4,", raw_bytes<std::int64_t>({0, 1, 0, 1}))},
                                   {"x_test", npy("|u1", "2, 1, 1, 1", "ab")},
                                   {"y_test", npy("<i8", "2,", raw_bytes<std::int64_t>({0, 1}))},
                                   {"group_train", array},
                                   {"group_test", npy("<i8", "2,", raw_bytes<std::int64_t>({9, 8}))}});
    Options all{{"group", "group_train"}};
    all.insert(all.end(), options.begin(), options.end());
    return error({"set.npz"}, all);
  };
  const auto numbers = [](const std::vector<std::int64_t>& of) { return npy("<i8", "4,", raw_bytes(of)); };
  EXPECT_THAT(groups(numbers({1, 1, 2, 2})), HasSubstr("nothing was thrown"));
  EXPECT_THAT(groups(numbers({1, 1, 9, 2})),
              HasSubstr("group_test: 1 of 2 groups are in the training set, too, e.g. `9`"));
  EXPECT_THAT(groups(npy("<i8", "3,", raw_bytes<std::int64_t>({1, 1, 2}))),
              HasSubstr("group_train: expected 4 groups, one for each sample, got 3"));
  EXPECT_THAT(groups(npy("<f8", "4,", raw_bytes<double>({1, std::nan(""), 2, 3}))),
              HasSubstr("group_train: row 1: the group is missing"));
  EXPECT_THAT(groups(npy("<f8", "4,", raw_bytes<double>({1, 1.5, 2, 3}))),
              HasSubstr("group_train: row 1: expected whole numbers or words for groups, got 1.5"));
  EXPECT_THAT(groups(npy("|S1", "4,", std::string("a\0bc", 4))), HasSubstr("row 1: the group is missing"));
  EXPECT_THAT(groups(numbers({1, 1, 2, 2}), {{"validation", "0.2"}}), HasSubstr("nothing was thrown"));
  EXPECT_THAT(groups(numbers({1, 1, 1, 1}), {{"validation", "0.2"}}),
              HasSubstr("group_train: groups: expected at least 2, one for each part, got 1"));
  EXPECT_THAT(error({"set.npz"}, {{"group", "patient"}}), HasSubstr("no array `patient`, there are "));
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

TEST_F(ImportArrays, NamesOfClassesThatAreNotUtf8AreRefused) {
  write("train.csv", "1,caf\xe9\n2,tea\n");
  EXPECT_THAT(error({"train.csv"}, {{"test", "0"}}),
              HasSubstr("train.csv:1: column 2: expected words in UTF-8 and without control characters, got "
                        "`caf\\xe9`: save the table as UTF-8"));
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

TEST_F(ImportArrays, ArraysInFortransOrderAreTheSame) {
  const std::string y = npy("<i8", "2,", raw_bytes<std::int64_t>({5, 3}));
  const auto fortran = [](const std::string& shape, const std::string& content) {
    return npy_with_header("{'descr': '|u1', 'fortran_order': True, 'shape': (" + shape + "), }", content);
  };
  // numpy.asfortranarray(numpy.frombuffer(b"abcdefABCDEF", "u1").reshape(2, 1, 2, 3)).tobytes("A")
  const std::string turned = "aAdDbBeEcCfF";
  write_pair(fortran("2, 1, 2, 3", turned), y);
  write("x_train.npy", fortran("2, 1, 2, 3", turned));
  write("y_train.npy", y);
  for (const std::vector<std::string>& files :
       {std::vector<std::string>{"set.npz"}, {"x_train.npy", "y_train.npy"}}) {
    const auto set = read(files, {{"test", "0"}});
    const auto pixels = set->train().pixels();
    EXPECT_EQ(std::string(pixels.begin(), pixels.end()), "abcdefABCDEF");
  }
  write_pair(fortran("2, 1, 2, 3", "abc"), y);
  EXPECT_THAT(error({"set.npz"}), HasSubstr("its size is not what its header says"));
}

TEST_F(ImportArrays, HeadersOfPython2AreRead) {
  write_pair(npy_with_header("{'descr': '|u1', 'fortran_order': False, 'shape': (2L, 3L), }", "abcdef"),
             npy_with_header("{'descr': '<i8', 'fortran_order': False, 'shape': (2L,), }",
                             raw_bytes<std::int64_t>({5, 3})));
  EXPECT_EQ(read({"set.npz"}, {{"test", "0"}})->shape(), (space::Shape{3, 1, 1}));
}

TEST_F(ImportArrays, WordsAreClassesAndObjectsAreRefusedWithAdvice) {
  const std::string x = npy("|u1", "3, 1", "abc");
  const std::string wide("d\0\0\0\xf6\0\0\0g\0\0\0c\0\0\0a\0\0\0t\0\0\0d\0\0\0\xf6\0\0\0g\0\0\0", 36);
  std::string swapped = wide;
  for (std::size_t i = 0; i < swapped.size(); i += 4) std::swap(swapped[i], swapped[i + 3]);
  for (const auto& [type, content] : {std::pair("<U3", wide), std::pair(">U3", swapped)}) {
    write_pair(x, npy(type, "3,", content));
    const auto set = read({"set.npz"}, {{"test", "0"}});
    EXPECT_THAT(set->class_names(), ElementsAre("cat", "d\xc3\xb6g")) << type;
    EXPECT_THAT(set->train().classes(), ElementsAre(1, 0, 1));
  }
  write_pair(x, npy("|S5", "3, 1", std::string("cat\0\0horsecat\0\0", 15)));
  EXPECT_THAT(read({"set.npz"}, {{"test", "0"}})->class_names(), ElementsAre("cat", "horse"));
  EXPECT_THAT(error({"set.npz"}, {{"targets", "numbers"}}),
              HasSubstr("y_train: expected numbers, got words"));
  EXPECT_THAT(error({"set.npz"}, {{"x-train", "y_train"}}),
              HasSubstr("y_train: expected numbers, got words"));
  write_pair(x, npy("|S1", "3,", "\xe9\xe9\xe9"));
  EXPECT_THAT(error({"set.npz"}), HasSubstr("set.npz: y_train: expected words in UTF-8 and without control"));
  write_pair(x, npy("|O", "3,", "pickle"));
  EXPECT_THAT(error({"set.npz"}), HasSubstr("y_train: Python objects: save words as y.astype(str)"));
  write_pair(x, npy("<U9999", "3,", "x"));
  EXPECT_THAT(error({"set.npz"}), HasSubstr("elements of type '<U9999'"));
}

TEST_F(ImportArrays, AnArrayOfClassNamesNamesTheOutputs) {
  const std::string x = npy("|u1", "3, 1", "abc");
  const std::string names = npy("|S3", "3,", "dogcatowl");
  const auto write_set = [&](const std::string& y, const std::string& class_names) {
    write_npz(folder / "set.npz", {{"x_train", x}, {"y_train", y}, {"class_names", class_names}});
  };
  write_set(npy("<i8", "3,", raw_bytes<std::int64_t>({1, 0, 1})), names);
  auto set = read({"set.npz"}, {{"test", "0"}});
  EXPECT_THAT(set->class_names(), ElementsAre("dog", "cat", "owl"));
  EXPECT_THAT(set->train().classes(), ElementsAre(1, 0, 1));
  write_set(npy("|S3", "3,", "owldogowl"), names);
  EXPECT_THAT(read({"set.npz"}, {{"test", "0"}})->train().classes(), ElementsAre(2, 0, 2));
  write_set(npy("|u1", "3, 3", std::string("\1\0\0\0\1\1\0\0\0", 9)), names);
  set = read({"set.npz"}, {{"test", "0"}});
  EXPECT_EQ(set->train().target_kind(), TargetKind::kLabels);
  EXPECT_THAT(set->class_names(), ElementsAre("dog", "cat", "owl"));
  write_set(npy("|u1", "3, 2", std::string("\1\0\0\1\1\0", 6)), names);
  EXPECT_THAT(error({"set.npz"}), HasSubstr("y_train: has 2 targets of a sample, and class_names 3 names"));
  write_set(npy("<i8", "3,", raw_bytes<std::int64_t>({1, 3, 2})), names);
  EXPECT_THAT(error({"set.npz"}),
              HasSubstr("y_train: target number 1: expected a class from 0 to 2, the place of its "
                        "name in class_names, got 3"));
  write_set(npy("|S3", "3,", "owlfoxowl"), names);
  EXPECT_THAT(error({"set.npz"}), HasSubstr("`fox` is a class that class_names do not have"));
  write_set(npy("<i8", "3,", raw_bytes<std::int64_t>({1, 0, 1})), npy("|S3", "3,", "dogcatdog"));
  EXPECT_THAT(error({"set.npz"}), HasSubstr("class_names: two classes are called `dog`"));
}

TEST_F(ImportArrays, ZipFilesThatNumPyDoesNotWriteAreNamedByTheirPacking) {
  write_npz(folder / "set.npz", {{"x_train", kTwoImages}, {"y_train", kTwoLabels}}, 0);
  std::ifstream file(folder / "set.npz", std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(file), {}};
  for (const auto& [start, place] : {std::pair("PK\x03\x04", 8), std::pair("PK\x01\x02", 10)}) {
    for (std::size_t at = content.find(start); at != std::string::npos; at = content.find(start, at + 1))
      content[at + static_cast<std::size_t>(place)] = 12;
  }
  write("set.npz", content);
  EXPECT_THAT(error({"set.npz"}), HasSubstr("x_train: packed by bzip2: save it by numpy.savez"));
}

/// Counts how often chunks are unpacked.
std::atomic<int> unpacked_chunks{0};
std::size_t count_chunks(unsigned flags, std::size_t /*num*/, const unsigned* /*values*/, std::size_t bytes,
                         std::size_t* /*room*/, void** /*buffer*/) {
  if ((flags & H5Z_FLAG_REVERSE) != 0) ++unpacked_chunks;
  return bytes;
}

TEST_F(ImportArrays, AChunkOfAnHdf5FileIsUnpackedOnceHoweverLargeItIs) {
  constexpr H5Z_filter_t kFilter = 400;
  const H5Z_class2_t counting{H5Z_CLASS_T_VERS, kFilter, 1, 1, "counting", nullptr, nullptr, count_chunks};
  ASSERT_GE(H5Zregister(&counting), 0);
  const std::filesystem::path path = folder / "set.h5";
  const hsize_t dims[] = {72, 1 << 20};  // a chunk of 72 MiB, which is read in blocks of 4 MiB
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, 2, dims);
  H5Pset_filter(creation, kFilter, H5Z_FLAG_MANDATORY, 0, nullptr);
  const hid_t space = H5Screate_simple(2, dims, nullptr);
  const hid_t array =
      H5Dcreate2(file, "x_train", H5T_NATIVE_UINT8, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  const std::vector<std::uint8_t> pixels(dims[0] * dims[1], 7);
  H5Dwrite(array, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, pixels.data());
  H5Dclose(array);
  H5Sclose(space);
  H5Pclose(creation);
  H5Fclose(file);
  write("y_train.npy", npy("|u1", "72,", std::string(36, '\1') + std::string(36, '\2')));
  unpacked_chunks = 0;
  EXPECT_EQ(read({"set.h5", "y_train.npy"}, {{"test", "0"}, {"layout", "nl"}})->train().count, 72U);
  EXPECT_EQ(unpacked_chunks, 1);
  H5Zunregister(kFilter);
}

TEST_F(ImportArrays, DeepGroupsOfHdf5FilesAreBounded) {
  const std::filesystem::path path = folder / "set.h5";
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  std::string name;
  for (int i = 0; i < 40; ++i) {
    name += "/g";
    H5Gclose(H5Gcreate2(file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  }
  H5Fclose(file);
  EXPECT_EQ(error({"set.h5"}), path.string() + ": groups within groups, more than 32 deep");
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

}  // namespace
}  // namespace skyline::store
