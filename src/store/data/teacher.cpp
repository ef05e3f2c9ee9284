#include "store/data/teacher.hpp"

#include "skyline/core/error.hpp"

#include "core/text/hash.hpp"
#include "core/text/wording.hpp"
#include "store/hdf5/hdf5_image.hpp"
#include "store/hdf5/hdf5_reader.hpp"
#include "store/hdf5/sealed_file.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace skyline::store {
namespace {

constexpr std::string_view kTeacherFormat = "skyline-teacher";
constexpr std::string_view kTeacherKind = "teacher's file (skyline prep teacher makes one)";
constexpr std::int64_t kTeacherVersion = 1;
constexpr const char* kOutputsName = "outputs";

/// Reads what a file says, and where its outputs are mapped. @throws UserError
TeacherOutputs read_contents(const Hdf5Reader& reader, const Seal& seal, const std::filesystem::path& path,
                             std::span<const std::byte> file) {
  reader.check_version("teacher's file", kTeacherVersion, " (make it again with skyline prep teacher)");
  const std::vector<std::int64_t> dims = reader.array_dims(kOutputsName);
  const std::uint64_t offset = reader.array_offset(kOutputsName, H5T_IEEE_F32LE);
  const auto sealed =
      static_cast<std::int64_t>(seal.arrays.size() == 1 ? seal.arrays.front().bytes / sizeof(float) : 0);
  const bool fits = sealed > 0 && seal.arrays.front().offset == offset && offset % alignof(float) == 0 &&
                    dims.size() == 2 && dims[1] > 0 && sealed % dims[1] == 0 && sealed / dims[1] == dims[0];
  if (!fits) throw UserError(path.string() + ": outputs: not where the file says that they are");
  TeacherOutputs contents{.data_hash = reader.text_attribute("data"),
                          .source = reader.text_attribute("source"),
                          .rows = static_cast<std::uint64_t>(dims[0]),
                          .outputs = static_cast<std::uint64_t>(dims[1]),
                          .values = {}};
  contents.values = {reinterpret_cast<const float*>(file.data() + offset), contents.rows * contents.outputs};
  return contents;
}

}  // namespace

void write_teacher(const std::filesystem::path& path, const TeacherOutputs& contents) {
  require(contents.values.size() == contents.rows * contents.outputs, "outputs of another size");
  Hdf5Image image(path, {.user_block = kSealBytes});
  image.write_attribute("/", "format", kTeacherFormat);
  image.write_attribute("/", "version", kTeacherVersion);
  image.write_attribute("/", "data", contents.data_hash);
  image.write_attribute("/", "source", contents.source);
  const std::vector<hsize_t> dims{contents.rows, contents.outputs};
  const auto bytes = std::as_bytes(contents.values);
  image.refer_array(kOutputsName, H5T_IEEE_F32LE, dims, bytes);
  image.write_attribute(kOutputsName, "sha256", sha256_hex(bytes));
  publish_sealed(image, kTeacherFormat, {{kOutputsName, image.array_offset(kOutputsName), bytes.size(), {}}});
}

std::shared_ptr<const Teacher> Teacher::open(const std::filesystem::path& path, bool verify) {
  const std::shared_ptr<Teacher> teacher(new Teacher(path));
  const std::span<const std::byte> file = teacher->file_.bytes();
  const Seal seal = check_seal(file, kTeacherFormat, kTeacherKind, path);
  if (verify) check_arrays(file, seal, path, [] { return false; });
  teacher->contents_ = read_contents(Hdf5Reader(path, teacher->file_.descriptor()), seal, path, file);
  teacher->content_hash_ = store::content_hash(file, seal);
  teacher->seal_ = std::make_shared<const Seal>(seal);
  if (verify) teacher->check_values();
  return teacher;
}

void Teacher::check_unchanged() const {
  const std::lock_guard lock(mutex_);
  store::check_unchanged(file_, *seal_, path_, checked_);
}

void Teacher::check_values() const {
  const auto wrong = std::ranges::find_if_not(contents_.values, [](float x) { return std::isfinite(x); });
  if (wrong == contents_.values.end()) return;
  const auto place = static_cast<std::uint64_t>(wrong - contents_.values.begin());
  throw UserError(path_.string() + ": the output for sample " + std::to_string(place / contents_.outputs) +
                  " (from 0) is " + std::to_string(*wrong) + ", expected a finite number");
}

void Teacher::check_data(const Dataset& dataset) const {
  const auto fail = [this](const std::string& reason) { throw UserError(path_.string() + ": " + reason); };
  const std::size_t outputs = dataset.class_names().size();
  if (contents_.outputs != outputs) {
    fail("has " + counted(contents_.outputs, "output") + " for a sample, expected " +
         to_text(dataset.train().target_kind(), outputs) + ", as the data have");
  }
  const std::size_t rows = dataset.train().count + dataset.validation().count;
  if (contents_.rows != rows) {
    fail("is of " + counted(contents_.rows, "sample") + ", expected " + std::to_string(rows) +
         ", which the data have in `train` and `validation`");
  }
  if (contents_.data_hash == dataset.content_hash()) return;
  fail("is of other data: their checksum is " + contents_.data_hash + ", expected " + dataset.content_hash() +
       " (make it again with skyline prep teacher)");
}

}  // namespace skyline::store
