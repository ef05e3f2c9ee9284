#include "app/models/calibration.hpp"

#include "skyline/core/error.hpp"

#include "app/config/data_section.hpp"
#include "app/config/exported_network.hpp"
#include "store/arrays/npz_writer.hpp"
#include "store/publish/publish.hpp"

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace skyline::app {
namespace {

using store::SampleView;

/// Returns rows of an array that has equally many values of each sample.
template <typename Value, typename Stored>
std::vector<Value> picked_rows(std::span<const Stored> values, std::size_t samples,
                               const std::vector<std::int64_t>& rows) {
  const std::size_t each = values.size() / samples;
  std::vector<Value> picked;
  picked.reserve(rows.size() * each);
  for (const std::int64_t row : rows) {
    const auto of_row = values.subspan(static_cast<std::size_t>(row) * each, each);
    for (const Stored value : of_row) picked.push_back(static_cast<Value>(value));
  }
  return picked;
}

store::NpzArray inputs_of(const SampleView& samples, const space::Shape& shape,
                          const std::vector<std::int64_t>& rows) {
  store::NpzArray array{"input", {std::ssize(rows), shape.channels, shape.height, shape.width}, {}};
  std::visit([&](auto values) { array.values = picked_rows<float>(values, samples.count, rows); },
             samples.values);
  return array;
}

store::NpzArray labels_of(const SampleView& samples, const DataOptions& data,
                          const std::vector<std::int64_t>& rows) {
  store::NpzArray array{"label", {std::ssize(rows)}, {}};
  if (samples.target_kind() != store::TargetKind::kClasses)
    array.dims.push_back(static_cast<std::int64_t>(data.class_names.size()));
  std::visit(
      [&](auto values) {
        using Value = std::remove_cv_t<typename decltype(values)::element_type>;
        array.values = picked_rows<Value>(values, samples.count, rows);
      },
      samples.targets);
  const std::vector<store::TargetColumn> columns = scaled_targets(data);
  auto* const numbers = std::get_if<std::vector<float>>(&array.values);
  for (std::size_t i = 0; numbers != nullptr && !columns.empty() && i < numbers->size(); ++i) {
    const double value = static_cast<double>((*numbers)[i]);
    (*numbers)[i] = static_cast<float>(columns[i % columns.size()].number(value));
  }
  return array;
}

}  // namespace

Calibration draw_calibration(const ModelSource& source, std::size_t count,
                             const std::filesystem::path& file) {
  const ConfigNode& section = source.run.config.at("data");
  const std::uint64_t seed = source.run.header.seed;
  DataOptions data = source.data;
  if (!file.empty()) data.file = file.string();
  if (!store::exists(data.file))
    throw UserError("--calibration: there is no " + data.file + ": name the data set of the run by --data");
  const auto dataset = store::Dataset::open(data.file, false);
  describe_data(section, *dataset, data);
  const SampleView& train = dataset->train();
  std::vector<std::int32_t> classes(train.count);
  if (train.target_kind() == store::TargetKind::kClasses)
    classes.assign(train.classes().begin(), train.classes().end());
  const std::vector<std::int64_t> rows =
      store::stratified_part(classes, split_data(section, *dataset, data, seed).train, count, seed);
  const space::Shape& shape = dataset->shape();
  const double bytes = static_cast<double>(rows.size()) * static_cast<double>(sizeof(float)) *
                       static_cast<double>(shape.channels * shape.height * shape.width);
  if (bytes >= 0x1p32) {
    throw UserError("--calibration " + std::to_string(count) + ": these samples take " +
                    std::to_string(static_cast<std::int64_t>(bytes / 0x1p30)) + " GB, expected less than 4");
  }
  return {store::npz_bytes({inputs_of(train, shape, rows), labels_of(train, data, rows)}), rows.size()};
}

}  // namespace skyline::app
