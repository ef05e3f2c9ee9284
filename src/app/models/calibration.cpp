#include "app/models/calibration.hpp"

#include "skyline/core/error.hpp"

#include "app/config/data_section.hpp"
#include "app/config/evaluator_section.hpp"
#include "app/config/exported_network.hpp"
#include "app/models/npz_writer.hpp"
#include "comm/environment.hpp"
#include "core/log.hpp"
#include "core/text/wording.hpp"
#include "store/data/sample_draw.hpp"
#include "store/publish/publish.hpp"
#include "train/evaluator/inference.hpp"
#include "train/loading/load_training.hpp"

#include <cstdint>
#include <string>
#include <type_traits>
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

NpzArray inputs_of(const SampleView& samples, const space::Shape& shape,
                   const std::vector<std::int64_t>& rows) {
  NpzArray array{"input", {std::ssize(rows), shape.channels, shape.height, shape.width}, {}};
  std::visit([&](auto values) { array.values = picked_rows<float>(values, samples.count, rows); },
             samples.values);
  return array;
}

NpzArray labels_of(const SampleView& samples, const DataOptions& data,
                   const std::vector<std::int64_t>& rows) {
  NpzArray array{"label", {std::ssize(rows)}, {}};
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

CalibrationSet draw_calibration(const ModelSource& source, const CalibrationChoice& choice) {
  const ConfigNode& section = source.run.config.at("data");
  const std::uint64_t seed = source.run.header.seed;
  CalibrationSet set{.dataset = nullptr, .data = source.data, .rows = {}};
  if (!choice.file.empty()) set.data.file = choice.file.string();
  if (!store::exists(set.data.file)) {
    throw UserError(choice.option + ": there is no " + set.data.file + ": name the data set of the run by " +
                    choice.file_option);
  }
  set.dataset = store::Dataset::open(set.data.file, false);
  describe_data(section, *set.dataset, set.data);
  set.rows = store::calibration_samples(*set.dataset, split_data(section, *set.dataset, set.data, seed),
                                        choice.count, seed);
  return set;
}

std::string calibration_npz(const CalibrationSet& set) {
  const space::Shape& shape = set.dataset->shape();
  const double bytes = static_cast<double>(set.rows.size()) * static_cast<double>(sizeof(float)) *
                       static_cast<double>(shape.elements());
  if (bytes >= 0x1p32) {
    throw UserError("--calibration " + std::to_string(set.rows.size()) + ": these samples take " +
                    std::to_string(static_cast<std::int64_t>(bytes / 0x1p30)) + " GB, expected less than 4");
  }
  const SampleView& train = set.dataset->train();
  return npz_bytes({inputs_of(train, shape, set.rows), labels_of(train, set.data, set.rows)});
}

space::Int8Network int8_form(const ModelSource& source, const SelectedModel& model,
                             const CalibrationSet& set) {
  if (set.rows.size() < store::kFewCalibrationSamples) {
    log::warning("int8: " + counted(set.rows.size(), "training sample") +
                 " are few to measure the values inside a network: expected at least " +
                 std::to_string(store::kFewCalibrationSamples));
  }
  const auto job = comm::make_local_environment();
  return train::load_training().quantize(*job, {.section = evaluator_of(source.run.config).section,
                                                .normalization = source.data.normalization,
                                                .architecture = model.trained->trial.proposal.architecture,
                                                .tensors = model.weights.tensors,
                                                .dataset = set.dataset,
                                                .samples = set.rows});
}

}  // namespace skyline::app
