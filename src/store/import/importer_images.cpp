#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "store/images/image.hpp"
#include "store/images/image_folder.hpp"
#include "store/import/built_in.hpp"
#include "store/import/image_options.hpp"
#include "store/import/progress.hpp"
#include "store/import/work_in_order.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace skyline::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFilesAtOnce = 64;                    // files of a thread
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 23;  // bytes of their pixels

/// The result for one file: a value, or the reason why there is none.
template <typename T>
struct FileResult {
  std::size_t file = 0;
  std::optional<T> value;
  std::string problem;
};

/// The values of a sample, [channels, height, width].
struct SamplePlanes {
  std::vector<std::uint8_t> values;
  std::shared_ptr<const DeepValues> deep;  // as in Image
};

/// Reads the images of a folder into a data set.
class ImageImport {
 public:
  ImageImport(const ImportSource& source, DatasetWriter& writer)
      : path_(source.paths.at(0)),
        options_(image_keys().parse(source.options)),
        rows_(source.rows),
        threads_(source.threads),
        writer_(writer),
        folder_(source.has_targets ? ImageFolder(path_) : ImageFolder(source.paths)),
        as_rgb_(source.shape && source.shape->channels == 3),
        as_grey_(source.shape && source.shape->channels == 1) {}

  void run() {
    for (const std::string& doubt : folder_.doubts()) log::warning(doubt);
    survey();
    tell_what_is_not_read();
    const bool has_parts = folder_.has_part(Part::kValidation) || folder_.has_part(Part::kTest);
    const PartShares shares{share_of(Part::kTest, options_.test.value_or(has_parts ? 0 : 0.2)),
                            share_of(Part::kValidation, options_.validation), options_.seed,
                            options_.group == ImageGroups::kNone ? Split::kDrawn : Split::kGroups};
    find_groups();
    draw(shares);
    folder_.check_classes();
    describe(shares);
    for (const Part part : kAllParts) add(part);
    check_counts();
    tell_what_is_merged();
    if (rows_ != nullptr) add_rows();
  }

 private:
  void survey();
  void look_at(std::size_t file, const space::Shape& shape);
  void choose_size();
  double share_of(Part part, double share) const;
  std::string group_of(std::size_t file) const;
  void find_groups();
  void draw(const PartShares& shares);
  void describe(const PartShares& shares);
  void add(Part part);
  void check_counts() const;
  void tell_what_is_not_read() const;
  void tell_what_is_merged() const;
  void add_rows() const;
  SamplePlanes planes_of(std::size_t file) const;
  void leave_out(std::size_t file, const std::string& problem);
  void skip(std::size_t file, const std::string& problem);

  /// Reads files on all threads and handles the results in order.
  template <typename T>
  void for_each_file(std::span<const std::uint32_t> files, std::size_t at_once,
                     const std::function<T(std::size_t file)>& read,
                     const std::function<void(std::span<const FileResult<T>>)>& take);

  fs::path path_;
  ImageOptions options_;
  SourceRows* rows_;
  std::size_t threads_;
  DatasetWriter& writer_;
  ImageFolder folder_;
  bool as_rgb_;                              // makes grey images RGB, even if none is coloured
  bool as_grey_;                             // makes coloured images grey
  space::Shape shape_;                       // shape of the samples
  std::vector<std::int64_t> shorter_sides_;  // of the images, if their size is to be chosen
  bool has_sizes_ = false;                   // whether the images have several sizes
  std::vector<std::int32_t>
      groups_;  // number of the group of each file that is read, if the user wants groups
  std::optional<std::size_t> first_;  // first file that can be read
  std::size_t num_grey_ = 0;
  std::size_t num_colour_ = 0;
  std::size_t num_skipped_ = 0;
  std::size_t num_deep_ = 0;                     // images with more than 8 bits per value
  DeepValues deep_;                              // of these images
  FileKinds foreign_;                            // images that others read
  FileKinds others_;                             // files that are no images
  std::map<std::size_t, std::string> problems_;  // of files that are images and give no sample
};

template <typename T>
void ImageImport::for_each_file(std::span<const std::uint32_t> files, std::size_t at_once,
                                const std::function<T(std::size_t file)>& read,
                                const std::function<void(std::span<const FileResult<T>>)>& take) {
  const auto read_some = [&](std::span<const std::uint32_t> some) {
    std::vector<FileResult<T>> results;
    for (const std::uint32_t file : some) {
      FileResult<T>& result = results.emplace_back();
      result.file = file;
      try {
        result.value = read(file);
      } catch (const UserError& error) {
        result.problem = error.what();
      }
    }
    return results;
  };
  work_in_order((files.size() + at_once - 1) / at_once, threads_, [&](std::size_t number) {
    const std::size_t begin = number * at_once;
    auto results = read_some(files.subspan(begin, std::min(at_once, files.size() - begin)));
    return [&take, results = std::move(results)] { take(results); };
  });
}

/// Reads every file's header, because the shape of the set must be known before the first sample is written.
void ImageImport::survey() {
  std::vector<std::uint32_t> files(folder_.size());
  for (std::size_t i = 0; i < files.size(); ++i) files[i] = static_cast<std::uint32_t>(i);
  Progress progress("looking at the files in " + path_.string(), files.size());
  for_each_file<space::Shape>(
      files, kFilesAtOnce, [&](std::size_t file) { return read_image_shape(folder_.path(file)); },
      [&](std::span<const FileResult<space::Shape>> results) {
        for (const auto& result : results) {
          if (result.value) {
            look_at(result.file, *result.value);
          } else {
            leave_out(result.file, result.problem);
          }
        }
        progress.advance(results.size());
      });
  if (!first_) {
    const std::string last = problems_.empty() ? "" : ": " + problems_.rbegin()->second;
    throw UserError(path_.string() + ": no image that can be read" + last);
  }
  if (options_.chosen_size()) choose_size();
  if (num_grey_ > 0 && num_colour_ > 0 && !as_grey_) {
    log::info(std::to_string(num_grey_) + " of " + counted(num_grey_ + num_colour_, "image") +
              " are grey: all become RGB");
  }
  shape_.channels = !as_grey_ && (num_colour_ > 0 || as_rgb_) ? 3 : 1;
}

void ImageImport::look_at(std::size_t file, const space::Shape& shape) {
  ++(shape.channels == 1 ? num_grey_ : num_colour_);
  if (!first_) {
    first_ = file;
    shape_ = shape;
    if (options_.size.height > 0) shape_ = {1, options_.size.height, options_.size.width};
  }
  if (options_.chosen_size()) shorter_sides_.push_back(std::min(shape.height, shape.width));
  if (options_.size.height > 0 || (shape.height == shape_.height && shape.width == shape_.width)) return;
  has_sizes_ = true;
  if (options_.chosen_size()) return;
  throw UserError(folder_.path(file).string() + ": " + std::to_string(shape.height) + " x " +
                  std::to_string(shape.width) + " pixels, and " + folder_.path(*first_).string() + " has " +
                  std::to_string(shape_.height) + " x " + std::to_string(shape_.width) +
                  ": make them one size by --size");
}

/// Chooses a size that small networks learn from in a short time.
void ImageImport::choose_size() {
  constexpr std::int64_t kMost = 96;
  constexpr std::int64_t kStep = 8;
  options_.size = {};
  if (!has_sizes_ && std::max(shape_.height, shape_.width) <= kMost) return;
  const auto median = shorter_sides_.begin() + std::ssize(shorter_sides_) / 2;
  std::ranges::nth_element(shorter_sides_, median);
  const std::int64_t side = std::clamp(*median / kStep * kStep, kStep, kMost);
  options_.size = {side, side};
  shape_.height = shape_.width = side;
  writer_.note("size: " + std::to_string(side) + " x " + std::to_string(side) +
               " pixels, by the images' shorter sides, whose median is " + std::to_string(*median) +
               "; another one: --size");
}

/// Leaves out a file whose header cannot be read. Files that are no images, and images of other formats, are
/// counted; others are damaged.
void ImageImport::leave_out(std::size_t file, const std::string& problem) {
  const std::optional<OtherKind> kind = other_kind(folder_.path(file));
  if (!kind) return skip(file, problem);
  ++(kind->is_image ? foreign_ : others_)[kind->name];
  if (kind->is_image) problems_[file] = "a " + kind->name + " file, which is not read";
  folder_.leave_out(file);
}

void ImageImport::skip(std::size_t file, const std::string& problem) {
  const std::string path = folder_.path(file).string();
  // Errors of the system already name the file.
  const std::string line = problem.find(path) == std::string::npos ? path + ": " + problem : problem;
  if (++num_skipped_ > options_.skip) {
    throw UserError(path_.string() + ": more than " + counted(options_.skip, "file") +
                    " cannot be read as images (--skip=N allows N), the last of them " + line);
  }
  log::warning("left out: " + line);
  problems_[file] = problem;
  folder_.leave_out(file);
}

void ImageImport::tell_what_is_not_read() const {
  if (!others_.empty())
    log::warning(path_.string() + ": files that are no images are not read: " + to_text(others_));
  if (foreign_.empty()) return;
  log::warning(path_.string() + ": images of these kinds are left out, since they are not read: " +
               to_text(foreign_) + "; three lines of Python with Pillow convert them:");
  log::warning("  import pathlib, PIL.Image");
  log::warning("  for path in pathlib.Path(\"" + printable(path_.string()) + "\").rglob(\"*.*\"):");
  log::warning(
      "      if path.suffix.lower() in (\".bmp\", \".gif\", \".tif\", \".tiff\"): "
      "PIL.Image.open(path).save(path.with_suffix(\".png\"))");
}

/// Tells of values that were different in their files and are equal as pixels.
void ImageImport::tell_what_is_merged() const {
  const std::size_t stored = deep_.stored.count();
  const std::size_t kept = deep_.kept.count();
  if (stored == kept) return;
  writer_.note("check: " + counted(num_deep_, "image") + " with more than 8 bits per value: their " +
               std::to_string(stored) + " different values are " + std::to_string(kept) +
               " as pixels (`skyline prep arrays` keeps those of an array)");
}

/// Adds the row of each file that is an image, in order.
void ImageImport::add_rows() const {
  rows_->title = "file";
  rows_->may_fail = true;
  for (std::size_t file = 0; file < folder_.size(); ++file) {
    const auto problem = problems_.find(file);
    if (folder_.is_left_out(file) && problem == problems_.end()) continue;
    rows_->rows.push_back({folder_.part(file), printable(folder_.path(file).lexically_normal().string()),
                           problem == problems_.end() ? "" : problem->second});
  }
}

double ImageImport::share_of(Part part, double share) const {
  if (share <= 0 || !folder_.has_part(part)) return share;
  throw UserError(path_.string() + ": it has a folder for the " + to_text(part) + " set, so leave out --" +
                  to_text(part));
}

std::string ImageImport::group_of(std::size_t file) const {
  if (options_.group == ImageGroups::kFolder) {
    std::string name = folder_.folder_in_class(file);
    if (name.empty())
      throw UserError(folder_.path(file).string() +
                      ": expected a folder below that of its class, named like its group (--group=folder)");
    return name;
  }
  const std::string name = folder_.path(file).stem().string();
  const std::size_t end = name.find_first_of("_-");
  if (end == std::string::npos || end == 0)
    throw UserError(folder_.path(file).string() +
                    ": expected a name that begins with its group, up to `_` or `-` (--group=name)");
  return name.substr(0, end);
}

/// Numbers the groups, in the order of their first files, and compares the parts that have folders.
void ImageImport::find_groups() {
  if (options_.group == ImageGroups::kNone) return;
  struct Group {
    std::int32_t number;
    Part part;
  };
  std::map<std::string, Group> known;
  groups_.resize(folder_.size());
  for (std::size_t file = 0; file < folder_.size(); ++file) {
    if (folder_.is_left_out(file)) continue;
    const std::string name = group_of(file);
    const auto number = static_cast<std::int32_t>(known.size());
    const Group& group = known.emplace(name, Group{number, folder_.part(file)}).first->second;
    if (group.part != folder_.part(file))
      throw UserError(folder_.path(file).string() + ": its group " + in_quotes(printable(name)) +
                      " is in the " + to_text(group.part) + " set, too");
    groups_[file] = group.number;
  }
  writer_.note(counted(known.size(), "group") + " of images, e.g. " +
               in_quotes(printable(known.begin()->first)) + " (--group)");
}

void ImageImport::draw(const PartShares& shares) {
  try {
    folder_.draw(shares, groups_);
  } catch (const UserError& error) {
    if (groups_.empty()) throw;
    throw UserError(path_.string() + ": " + error.what() + " (--group)");
  }
}

void ImageImport::describe(const PartShares& shares) {
  DatasetFacts facts{shape_, folder_.class_names(), "the images of a folder, one folder per class", 255};
  if (const std::string drawn = draw_text(shares); !drawn.empty()) {
    facts.source += "; " + drawn;
    log::info(drawn);
  }
  writer_.describe(facts);
  writer_.check_room((num_grey_ + num_colour_) * static_cast<std::uint64_t>(shape_.elements()));
}

SamplePlanes ImageImport::planes_of(std::size_t file) const {
  Image image = read_image(folder_.path(file));
  const auto deep = image.deep;
  if (as_grey_) image = grey(std::move(image));
  const auto height = static_cast<std::size_t>(shape_.height);
  const auto width = static_cast<std::size_t>(shape_.width);
  const bool fits = image.height == height && image.width == width;
  if (static_cast<std::int64_t>(image.channels) > shape_.channels || (!fits && options_.size.height == 0))
    throw UserError("another image took its place while the folder was read");
  if (!fits) image = resized(image, height, width, options_.fit);
  std::vector<std::uint8_t> planes(static_cast<std::size_t>(shape_.elements()));
  image.copy_planes(planes.data());
  if (image.channels == 1 && shape_.channels == 3) {  // a grey image in a coloured set
    const std::size_t plane = height * width;
    for (const std::size_t copy : {plane, 2 * plane}) std::copy_n(planes.data(), plane, planes.data() + copy);
  }
  return {std::move(planes), deep};
}

void ImageImport::add(Part part) {
  const std::vector<std::uint32_t> files = folder_.files_of(part);
  if (files.empty()) return;
  Progress progress("reading the " + std::string(to_text(part)) + " set", files.size());
  const auto bytes = static_cast<std::size_t>(shape_.elements());
  const std::size_t at_once = std::clamp<std::size_t>(kBytesAtOnce / bytes, 1, kFilesAtOnce);
  for_each_file<SamplePlanes>(
      files, at_once, [&](std::size_t file) { return planes_of(file); },
      [&](std::span<const FileResult<SamplePlanes>> results) {
        std::vector<std::uint8_t> pixels;
        std::vector<std::int32_t> labels;
        std::vector<std::int32_t> groups;
        for (const auto& result : results) {
          if (!result.value) {
            skip(result.file, result.problem);
            continue;
          }
          pixels.insert(pixels.end(), result.value->values.begin(), result.value->values.end());
          if (result.value->deep) {
            ++num_deep_;
            deep_.add(*result.value->deep);
          }
          labels.push_back(folder_.label(result.file));
          if (part == Part::kTrain && !groups_.empty()) groups.push_back(groups_[result.file]);
        }
        writer_.append(part, {std::span<const std::uint8_t>(pixels), std::span<const std::int32_t>(labels),
                              labels.size(), groups});
        progress.advance(results.size());
      });
}

/// Counts again, since some of the files may have been damaged.
void ImageImport::check_counts() const {
  if (num_skipped_ > 0) log::warning(counted(num_skipped_, "file") + " left out");
  folder_.check_classes();
}

class ImagesImporter final : public Importer {
 public:
  std::string meaning() const override {
    return "PNG, JPEG, WebP, PGM and PPM files in one folder per class, or in such folders in `train`, `val` "
           "and `test`.";
  }
  std::string sources() const override { return "FOLDER"; }
  std::shared_ptr<const KeyTable> keys() const override {
    return std::make_shared<OptionTable<ImageOptions>>(image_keys());
  }
  bool reads_samples_alone() const override { return true; }
  void import(const ImportSource& source, DatasetWriter& writer) const override {
    ImageImport(source, writer).run();
  }
};

}  // namespace

std::shared_ptr<const Importer> images_importer() {
  return std::make_shared<ImagesImporter>();
}

}  // namespace skyline::store
