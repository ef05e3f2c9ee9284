#include "store/fixtures/gzip_text.hpp"
#include "store/fixtures/scratch_folder.hpp"
#include "store/import/known_sets.hpp"
#include "store/import/plain_or_gzip.hpp"
#include "support/user_error_of.hpp"

#include <gmock/gmock.h>

namespace skyline::store {
namespace {

using skyline::testing::gzip_text;
using skyline::testing::overwrite;
using skyline::testing::ScratchFolder;
using skyline::testing::user_error_of;

std::string idx(std::uint32_t magic, const std::vector<std::uint32_t>& dims, const std::string& values) {
  std::string text;
  const auto append_word = [&text](std::uint32_t word) {
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(word >> shift & 0xff);
  };
  append_word(magic);
  for (const std::uint32_t dim : dims) append_word(dim);
  return text + values;
}

std::string pixels(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>(i * 37 % 256);
  return text;
}

class ImportMnist : public ::testing::Test {
 protected:
  ImportMnist() {
    write("train-images-idx3-ubyte", train_images);
    write("train-labels-idx1-ubyte", idx(0x801, {3}, std::string("\x00\x09\x04", 3)));
    write("t10k-images-idx3-ubyte", idx(0x803, {2, 4, 5}, pixels(40)));
    write("t10k-labels-idx1-ubyte", idx(0x801, {2}, "\x01\x02"));
  }
  void write(const std::string& name, const std::string& content) { overwrite(folder / name, content); }
  /// The error after the file has been given this content.
  std::string error_with(const std::string& name, const std::string& content) {
    write(name, content);
    return user_error_of([&] { import_mnist(folder.path()); });
  }
  std::string at(const std::string& name, const std::string& message) {
    return (folder / name).string() + ": " + message;
  }

  ScratchFolder folder;
  std::string train_images = idx(0x803, {3, 4, 5}, pixels(60));
};

TEST_F(ImportMnist, ReadsPlainFiles) {
  const DatasetContents contents = import_mnist(folder.path());
  EXPECT_EQ(contents.shape, (space::Shape{1, 4, 5}));
  EXPECT_EQ(contents.class_names.size(), 10u);
  EXPECT_EQ(std::string(contents.train.pixels().begin(), contents.train.pixels().end()), pixels(60));
  EXPECT_EQ(contents.train.classes(), (std::vector<std::int32_t>{0, 9, 4}));
  EXPECT_EQ(contents.test.classes(), (std::vector<std::int32_t>{1, 2}));
  EXPECT_EQ(contents.value_scale, 255);
}

TEST_F(ImportMnist, ReadsGzipFilesAndNamesWithADot) {
  std::filesystem::remove(folder / "train-images-idx3-ubyte");
  write("train-images-idx3-ubyte.gz", gzip_text(train_images));
  std::filesystem::rename(folder / "t10k-labels-idx1-ubyte", folder / "t10k-labels.idx1-ubyte");
  EXPECT_EQ(import_mnist(folder.path()).train.pixels().size(), 60u);
}

TEST_F(ImportMnist, FindsFilesInFoldersOfTheirNamesAndWhereTorchvisionKeepsThem) {
  const std::string name = "train-images-idx3-ubyte";
  std::filesystem::remove(folder / name);
  std::filesystem::create_directories(folder / name);
  EXPECT_THAT(user_error_of([&] { import_mnist(folder.path()); }), ::testing::HasSubstr("expected " + name));
  write("train-images.idx3-ubyte", train_images);
  EXPECT_EQ(import_mnist(folder.path()).train.pixels().size(), 60U) << "beside a folder of that name";
  std::filesystem::rename(folder / "train-images.idx3-ubyte", folder / name / name);
  EXPECT_EQ(import_mnist(folder.path()).train.pixels().size(), 60U) << "in a folder of that name";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) files.push_back(entry.path());
  std::filesystem::create_directories(folder / "MNIST/raw");
  for (const auto& file : files) std::filesystem::rename(file, folder / "MNIST/raw" / file.filename());
  EXPECT_EQ(import_mnist(folder.path()).train.pixels().size(), 60U);
  EXPECT_EQ(import_mnist(folder / "MNIST").train.pixels().size(), 60U);
  EXPECT_THAT(user_error_of([&] { import_fashion_mnist(folder.path()); }),
              ::testing::HasSubstr("expected " + name));
}

TEST_F(ImportMnist, NamesAWrongMagic) {
  std::filesystem::remove(folder / "t10k-images-idx3-ubyte");
  EXPECT_EQ(error_with("t10k-images-idx3-ubyte.gz", gzip_text(idx(0x801, {2}, "ab"))),
            at("t10k-images-idx3-ubyte.gz", "wrong IDX magic: expected 0x00000803, got 0x00000801"));
}

TEST_F(ImportMnist, NamesTruncatedFiles) {
  const std::string name = "train-images-idx3-ubyte";
  EXPECT_EQ(error_with(name, train_images.substr(0, 70)),
            at(name, "truncated: expected 76 bytes, got 70 bytes"));
  EXPECT_EQ(error_with(name, train_images.substr(0, 9)),
            at(name, "truncated: expected a header of 16 bytes, got 9 bytes"));
  EXPECT_EQ(error_with(name, "ab"), at(name, "truncated: expected an IDX header, got 2 bytes"));
  EXPECT_EQ(error_with(name, train_images + "x"), at(name, "too long: expected 76 bytes, got more"));
  EXPECT_EQ(error_with(name, idx(0x803, {3, 0, 5}, "")), at(name, "a dimension of size 0"));
  const std::uint32_t huge = 0xffffffff;
  EXPECT_THAT(error_with(name, idx(0x803, {huge, huge, huge}, "abc")),
              ::testing::HasSubstr("truncated: expected"));
}

TEST_F(ImportMnist, NamesTruncatedAndDamagedGzipFiles) {
  const std::string name = "train-images-idx3-ubyte.gz";
  std::filesystem::remove(folder / "train-images-idx3-ubyte");
  const std::string packed = gzip_text(train_images);
  EXPECT_EQ(error_with(name, packed.substr(0, packed.size() - 5)),
            at(name, "truncated gzip file (copy or download it again)"));
  std::string damaged = packed;
  damaged[damaged.size() - 6] ^= 1;
  EXPECT_EQ(error_with(name, damaged),
            at(name, "damaged gzip file: incorrect data check (copy or download it again)"));
}

TEST_F(ImportMnist, NamesAnotherNumberOfLabelsThanImages) {
  EXPECT_EQ(error_with("train-labels-idx1-ubyte", idx(0x801, {2}, "\x01\x02")),
            at("train-labels-idx1-ubyte",
               "expected 3 labels, as many as images in train-images-idx3-ubyte, got 2"));
}

TEST_F(ImportMnist, NamesALabelOutOfRange) {
  EXPECT_EQ(error_with("train-labels-idx1-ubyte", idx(0x801, {3}, "\x01\x0a\x02")),
            at("train-labels-idx1-ubyte", "label number 1: expected 0 to 9, got 10"));
}

TEST_F(ImportMnist, NamesTestImagesOfAnotherShape) {
  EXPECT_EQ(error_with("t10k-images-idx3-ubyte", idx(0x803, {2, 5, 4}, pixels(40))),
            folder.path().string() + ": test images are 1x5x4, training images 1x4x5");
}

TEST_F(ImportMnist, NamesWhatIsMissing) {
  std::filesystem::remove(folder / "t10k-images-idx3-ubyte");
  EXPECT_EQ(user_error_of([&] { import_mnist(folder.path()); }),
            folder.path().string() +
                ": expected t10k-images-idx3-ubyte or t10k-images-idx3-ubyte.gz, found neither");
  EXPECT_EQ(user_error_of([&] { import_mnist(folder / "none"); }),
            (folder / "none").string() + ": there is no such folder");
}

TEST_F(ImportMnist, UnpacksNoMoreThanTheHeaderSays) {
  const std::string name = "train-images-idx3-ubyte.gz";
  std::filesystem::remove(folder / "train-images-idx3-ubyte");
  const std::string bomb(10'000'000, 'x');
  EXPECT_EQ(error_with(name, gzip_text(idx(0x803, {30, 40, 50}, bomb))),
            at(name, "too long: expected 60016 bytes, got more"));
  EXPECT_EQ(read_plain_or_gzip(folder / name, [](std::string_view) { return 60'016; }).size(), 60'017U);
  EXPECT_EQ(error_with(name, gzip_text(idx(0x801, {30}, bomb))),
            at(name, "wrong IDX magic: expected 0x00000803, got 0x00000801"));
}

}  // namespace
}  // namespace skyline::store
