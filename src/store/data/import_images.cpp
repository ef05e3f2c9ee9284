#include "skyline/core/error.hpp"
#include "skyline/store/dataset.hpp"

#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;

constexpr int kLargestPixel = 255;
constexpr int kMostPixelsASide = 1 << 15;

struct Picture {
  space::Shape shape;
  std::vector<std::uint8_t> pixels;  // [channels, height, width]
};

/// Reads a binary PNM file of one image: PGM (P5, grey) or PPM (P6, red, green, blue).
class PnmReader {
 public:
  explicit PnmReader(const fs::path& path) : path_(path), content_(read_file(path)), rest_(content_) {}

  Picture read() {
    if (!rest_.starts_with("P5") && !rest_.starts_with("P6")) {
      fail(
          "expected a binary PGM or PPM image (P5, P6); other formats can be converted, e.g. by ImageMagick: "
          "mogrify -format ppm");
    }
    const std::size_t channels = rest_[1] == '5' ? 1 : 3;
    rest_.remove_prefix(2);
    const std::size_t width = number("width", kMostPixelsASide);
    const std::size_t height = number("height", kMostPixelsASide);
    const std::size_t largest = number("largest value", 65535);
    if (largest != kLargestPixel) fail("expected 255 as the largest value, got " + std::to_string(largest));
    if (!rest_.empty()) rest_.remove_prefix(1);  // one blank ends the header
    const std::size_t plane = width * height;
    if (rest_.size() != channels * plane) {
      fail("expected " + std::to_string(channels * plane) + " bytes of pixels, got " +
           std::to_string(rest_.size()));
    }
    Picture picture{{static_cast<std::int64_t>(channels), static_cast<std::int64_t>(height),
                     static_cast<std::int64_t>(width)},
                    std::vector<std::uint8_t>(rest_.size())};
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      picture.pixels[i % channels * plane + i / channels] = static_cast<std::uint8_t>(rest_[i]);
    }
    return picture;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw UserError(path_.string() + ": " + message);
  }

  void skip_blanks_and_comments() {
    while (!rest_.empty() && (std::isspace(static_cast<unsigned char>(rest_[0])) != 0 || rest_[0] == '#')) {
      const std::size_t end = rest_[0] == '#' ? std::min(rest_.find('\n'), rest_.size()) : 1;
      rest_.remove_prefix(end);
    }
  }

  std::size_t number(const std::string& what, int most) {
    skip_blanks_and_comments();
    int value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 1 || value > most) {
      fail("the header's " + what + ": expected a number from 1 to " + std::to_string(most));
    }
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return static_cast<std::size_t>(value);
  }

  const fs::path& path_;
  std::string content_;
  std::string_view rest_;
};

/// Entries of a folder that are not hidden, ordered by name.
std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> paths = list_folder(folder);
  std::erase_if(paths, [](const fs::path& path) { return path.filename().string().starts_with('.'); });
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;  // an unreadable entry is reported when it is read
  return fs::is_directory(path, ignored);
}

std::vector<std::string> class_names(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::path& path : sorted_entries(folder)) {
    if (is_folder(path)) names.push_back(path.filename().string());
  }
  return names;
}

/// Adds pictures to a data set; the first one fixes the size of all.
class Collector {
 public:
  explicit Collector(DatasetContents& contents) : contents_(contents) {}

  void add(std::span<const fs::path> files, std::size_t label, Samples& set) {
    for (const fs::path& file : files) {
      const Picture picture = PnmReader(file).read();
      if (first_.empty()) {
        first_ = file;
        contents_.shape = picture.shape;
      }
      if (picture.shape != contents_.shape) {
        throw UserError(file.string() + ": expected " + space::to_text(contents_.shape) + " as in " +
                        first_.string() + ", got " + space::to_text(picture.shape));
      }
      set.pixels().insert(set.pixels().end(), picture.pixels.begin(), picture.pixels.end());
      set.classes().push_back(static_cast<std::int32_t>(label));
    }
  }

 private:
  DatasetContents& contents_;
  fs::path first_;
};

/// Imports class folders in `train` and `test`.
void import_split(const fs::path& folder, DatasetContents& contents) {
  for (const std::string& name : class_names(folder / "test")) {
    if (std::ranges::find(contents.class_names, name) != contents.class_names.end()) continue;
    throw UserError((folder / "test" / name).string() + ": a class without a folder in " +
                    (folder / "train").string());
  }
  Collector collector(contents);
  for (std::size_t label = 0; label < contents.class_names.size(); ++label) {
    const std::string& name = contents.class_names[label];
    collector.add(sorted_entries(folder / "train" / name), label, contents.train);
    if (is_folder(folder / "test" / name)) {
      collector.add(sorted_entries(folder / "test" / name), label, contents.test);
    }
  }
}

/// Imports class folders; the last fifth of every class becomes the test set.
void import_whole(const fs::path& folder, DatasetContents& contents) {
  Collector collector(contents);
  for (std::size_t label = 0; label < contents.class_names.size(); ++label) {
    const std::vector<fs::path> files = sorted_entries(folder / contents.class_names[label]);
    const auto all = std::span(files);
    const std::size_t num_train = files.size() - files.size() / 5;
    collector.add(all.first(num_train), label, contents.train);
    collector.add(all.subspan(num_train), label, contents.test);
  }
}

}  // namespace

DatasetContents import_images(const fs::path& folder) {
  const bool is_split = is_folder(folder / "train") && is_folder(folder / "test");
  DatasetContents contents;
  contents.class_names = class_names(is_split ? folder / "train" : folder);
  if (contents.class_names.size() < 2) {
    throw UserError(folder.string() +
                    ": expected a folder of images for each of at least 2 classes, or the "
                    "folders train and test with such, got " +
                    std::to_string(contents.class_names.size()));
  }
  contents.source = "the images of a folder, a folder a class";
  if (is_split) {
    import_split(folder, contents);
  } else {
    import_whole(folder, contents);
  }
  return contents;
}

}  // namespace skyline::store
