#include "skyline/store/dataset.hpp"

#include "skyline/core/error.hpp"

#include "core/text/hash.hpp"
#include "store/data/dataset_layout.hpp"
#include "store/hdf5/hdf5_image.hpp"
#include "store/publish/sealed_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace skyline::store {
namespace {

[[noreturn]] void fail_on_contents(const std::filesystem::path& path, const std::string& message) {
  throw UserError(path.string() + ": " + message);
}

/// The first value that is not right.
template <typename T, typename IsRight>
void check_all(std::span<const T> values, const std::string& what, const std::string& expected,
               const std::filesystem::path& path, IsRight is_right) {
  const auto wrong = std::ranges::find_if_not(values, is_right);
  if (wrong == values.end()) return;
  fail_on_contents(path, what + " number " + std::to_string(wrong - values.begin()) + ": expected " +
                             expected + ", got " + std::to_string(*wrong));
}

void check_finite(std::span<const float> values, const std::string& what, const std::filesystem::path& path) {
  check_all(values, what, "a finite number", path, [](float value) { return std::isfinite(value); });
}

template <typename... Vectors>
std::size_t size_of(const std::variant<Vectors...>& array) {
  return std::visit([](const auto& values) { return values.size(); }, array);
}

void check_part(const Samples& part, const std::string& name, const DatasetContents& contents,
                const std::filesystem::path& path) {
  const std::size_t outputs = contents.class_names.size();
  const std::size_t values = size_of(part.values);
  const std::size_t targets = size_of(part.targets);
  if (values == 0 && targets == 0) return;
  if (part.values.index() != contents.train.values.index() ||
      part.targets.index() != contents.train.targets.index()) {
    fail_on_contents(path, name + ": values or targets of another type than those of train");
  }
  const SampleView view = part.view(outputs);
  const std::size_t each = targets_per_sample(view.target_kind(), outputs);
  if (targets % each != 0) {
    fail_on_contents(path, name + " targets: expected a multiple of " + std::to_string(each) +
                               ", one for each output, got " + std::to_string(targets));
  }
  const auto expected = view.count * static_cast<std::size_t>(contents.shape.elements());
  if (values != expected) {
    fail_on_contents(path, name + " values: expected " + std::to_string(expected) + " for " +
                               std::to_string(view.count) + " samples of shape " +
                               space::to_text(contents.shape) + ", got " + std::to_string(values));
  }
  check_values(view, outputs, name, path);
}

void check_contents(const DatasetContents& contents, const std::filesystem::path& path) {
  if (size_of(contents.train.targets) == 0) fail_on_contents(path, "the training set is empty");
  if (contents.shape.elements() <= 0) {
    fail_on_contents(path, "samples of shape " + space::to_text(contents.shape));
  }
  const std::size_t least = contents.train.targets.index() == 0 ? 2 : 1;
  if (contents.class_names.size() < least) {
    fail_on_contents(path, "class_names: expected at least " + std::to_string(least) + ", got " +
                               std::to_string(contents.class_names.size()));
  }
  check_part(contents.train, "train", contents, path);
  check_part(contents.validation, "validation", contents, path);
  check_part(contents.test, "test", contents, path);
}

struct ChannelMoments {
  std::vector<double> mean;
  std::vector<double> deviation;

  void add(double channel_mean, double sum_of_squares, double samples) {
    const double of_channel = std::sqrt(sum_of_squares / samples);
    mean.push_back(channel_mean);
    deviation.push_back(of_channel > 0 ? of_channel : 1);
  }
};

/// Computed from counts of the 256 pixel values, so that the sums do not depend on the order of the images.
ChannelMoments channel_moments(std::span<const std::uint8_t> pixels, std::size_t channels, std::size_t plane,
                               double value_scale) {
  std::vector<std::array<std::uint64_t, 256>> counts(channels);
  for (std::size_t i = 0; i < pixels.size(); ++i) ++counts[i / plane % channels][pixels[i]];
  const auto samples = static_cast<double>(pixels.size() / channels);
  ChannelMoments moments;
  for (const auto& count : counts) {
    double sum = 0;
    for (std::size_t value = 0; value < 256; ++value) {
      sum += static_cast<double>(count[value]) * static_cast<double>(value) / value_scale;
    }
    const double mean = sum / samples;
    double squares = 0;
    for (std::size_t value = 0; value < 256; ++value) {
      const double difference = static_cast<double>(value) / value_scale - mean;
      squares += static_cast<double>(count[value]) * difference * difference;
    }
    moments.add(mean, squares, samples);
  }
  return moments;
}

/// Sums distances from a channel's first value, which are 0 where the channel is constant.
ChannelMoments channel_moments(std::span<const float> values, std::size_t channels, std::size_t plane,
                               double /*value_scale*/) {
  const auto channel_of = [&](std::size_t i) { return i / plane % channels; };
  std::vector<double> mean(channels);
  std::vector<double> squares(channels);
  const auto samples = static_cast<double>(values.size() / channels);
  const auto distance = [&](std::size_t i) {
    return static_cast<double>(values[i]) - static_cast<double>(values[channel_of(i) * plane]);
  };
  for (std::size_t i = 0; i < values.size(); ++i) mean[channel_of(i)] += distance(i) / samples;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = distance(i) - mean[channel_of(i)];
    squares[channel_of(i)] += difference * difference;
  }
  ChannelMoments moments;
  for (std::size_t c = 0; c < channels; ++c) {
    moments.add(static_cast<double>(values[c * plane]) + mean[c], squares[c], samples);
  }
  return moments;
}

hid_t stored_type(std::uint8_t /*of*/) {
  return H5T_STD_U8LE;
}
hid_t stored_type(std::int32_t /*of*/) {
  return H5T_STD_I32LE;
}
hid_t stored_type(float /*of*/) {
  return H5T_IEEE_F32LE;
}

/// Writes an array of a part and tells the seal where it is.
template <typename T>
void write_values(Hdf5Image& image, const std::string& name, std::span<const hsize_t> dims,
                  const std::vector<T>& values, std::vector<Seal::Array>& arrays) {
  const auto bytes = std::as_bytes(std::span(values));
  image.refer_array(name, stored_type(T{}), dims, bytes);
  image.write_attribute(name, "sha256", sha256_hex(bytes));
  if (!values.empty()) arrays.push_back({name, image.array_offset(name), bytes.size(), {}});
}

/// An empty part is written with the types of the training set.
void write_part(Hdf5Image& image, const std::string& part, const Samples& samples,
                const DatasetContents& contents, std::vector<Seal::Array>& arrays) {
  image.make_group(part);
  const std::size_t outputs = contents.class_names.size();
  const hsize_t count = samples.view(outputs).count;
  const hsize_t dims[] = {count, static_cast<hsize_t>(contents.shape.channels),
                          static_cast<hsize_t>(contents.shape.height),
                          static_cast<hsize_t>(contents.shape.width)};
  const hsize_t target_dims[] = {count, outputs};
  const std::size_t ranks = contents.train.targets.index() == 0 ? 1 : 2;
  const auto write = [&](const char* name, std::span<const hsize_t> sizes, const auto& array,
                         const auto& of_train) {
    using Values = std::decay_t<decltype(of_train)>;
    static const Values kNone;
    const Values* const values = std::get_if<Values>(&array);
    write_values(image, part + "/" + name, sizes, values == nullptr ? kNone : *values, arrays);
  };
  std::visit([&](const auto& train) { write("values", dims, samples.values, train); }, contents.train.values);
  std::visit(
      [&](const auto& train) {
        write("targets", std::span(target_dims).first(ranks), samples.targets, train);
      },
      contents.train.targets);
}

}  // namespace

std::string_view to_text(TargetKind kind) {
  constexpr std::string_view kTexts[] = {"classes", "labels", "numbers"};
  return kTexts[static_cast<std::size_t>(kind)];
}

std::string to_text(TargetKind kind, std::size_t outputs) {
  constexpr std::string_view kSingulars[] = {"class", "label", "number"};
  const std::string_view word = outputs == 1 ? kSingulars[static_cast<std::size_t>(kind)] : to_text(kind);
  return std::to_string(outputs) + " " + std::string(word);
}

SampleView Samples::view(std::size_t outputs) const {
  SampleView view;
  std::visit([&](const auto& array) { view.values = std::span(array); }, values);
  std::visit([&](const auto& array) { view.targets = std::span(array); }, targets);
  view.count = size_of(targets) / targets_per_sample(view.target_kind(), outputs);
  return view;
}

void check_classes(const SampleView& samples, std::size_t classes, const std::string& part,
                   const std::filesystem::path& path) {
  check_all(samples.classes(), part + " class", "0 to " + std::to_string(classes - 1), path,
            [&](std::int32_t label) { return label >= 0 && static_cast<std::size_t>(label) < classes; });
}

void check_values(const SampleView& samples, std::size_t outputs, const std::string& part,
                  const std::filesystem::path& path) {
  if (!samples.has_pixels()) check_finite(std::get<1>(samples.values), part + " value", path);
  switch (samples.target_kind()) {
    case TargetKind::kClasses:
      return check_classes(samples, outputs, part, path);
    case TargetKind::kLabels:
      return check_all(std::get<1>(samples.targets), part + " target", "0 or 1", path,
                       [](std::uint8_t label) { return label <= 1; });
    case TargetKind::kNumbers:
      return check_finite(std::get<2>(samples.targets), part + " target", path);
  }
}

void write_dataset(const std::filesystem::path& path, const DatasetContents& contents) {
  check_contents(contents, path);
  const double value_scale = contents.train.values.index() == 0 ? contents.value_scale : 1;
  Hdf5Image image(path, {.user_block = kSealBytes});
  image.write_attribute("/", "format", kDatasetFormat);
  image.write_attribute("/", "version", kDatasetVersion);
  image.write_attribute("/", "source", contents.source);
  image.write_attribute("/", "value_scale", value_scale);
  image.write_texts("class_names", contents.class_names);
  const auto num_channels = static_cast<std::size_t>(contents.shape.channels);
  const auto plane = static_cast<std::size_t>(contents.shape.height * contents.shape.width);
  const ChannelMoments moments = std::visit(
      [&](const auto& values) {
        return channel_moments(std::span(values), num_channels, plane, value_scale);
      },
      contents.train.values);
  const hsize_t channels[] = {num_channels};
  image.refer_array("mean", H5T_NATIVE_DOUBLE, channels, std::as_bytes(std::span(moments.mean)));
  image.refer_array("deviation", H5T_NATIVE_DOUBLE, channels, std::as_bytes(std::span(moments.deviation)));
  std::vector<Seal::Array> arrays;
  write_part(image, "train", contents.train, contents, arrays);
  write_part(image, "validation", contents.validation, contents, arrays);
  write_part(image, "test", contents.test, contents, arrays);
  publish_sealed(image, kDatasetFormat, std::move(arrays));
}

}  // namespace skyline::store
