#include "app/models/onnx_model.hpp"

#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"

#include "app/prep/prep_process.hpp"
#include "core/system/temporary_folder.hpp"
#include "store/publish/publish.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

namespace skyline::app {
namespace {

namespace fs = std::filesystem;

PrepCall infer_call(const fs::path& file, std::vector<std::string> words) {
  PrepCall call{.title = "evaluate " + file.string(), .arguments = {"infer", "onnx"}};
  for (std::string& word : words) call.arguments.push_back(std::move(word));
  call.arguments.emplace_back("--");
  call.arguments.push_back(file.string());
  return call;
}

/// @throws UserError if the disk has no room for so many bytes
void check_room(const fs::path& folder, std::size_t bytes) {
  std::error_code unknown;
  const fs::space_info disk = fs::space(folder, unknown);
  if (unknown || disk.available >= bytes) return;
  throw UserError(folder.parent_path().string() + ": the samples need " + std::to_string(bytes) +
                  " bytes there, and " + std::to_string(disk.available) +
                  " are free: name another folder by TMPDIR");
}

/// Returns the values of all samples as they are stored.
std::string_view bytes_of(const store::SampleView& samples) {
  return std::visit(
      [](const auto& values) {
        const auto bytes = std::as_bytes(values);
        return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      },
      samples.values);
}

}  // namespace

OnnxModel OnnxModel::open(const fs::path& file) {
  const HeldSignals signals;
  const TemporaryFolder folder(temporary_root(), "skyline-");
  const fs::path written = folder.path() / "facts.json";
  (void)run_prep(infer_call(file, {"--facts=" + written.string()}), folder.path(), signals);
  const nlohmann::json facts = nlohmann::json::parse(store::read_file(written));
  OnnxModel model;
  model.file_ = file;
  model.needs_.owner = "the model";
  DataOptions& data = model.needs_.data;
  const auto& sizes = facts.at("shape");
  data.shape = space::Shape{.channels = sizes.at(0), .height = sizes.at(1), .width = sizes.at(2)};
  data.class_names = facts.at("class_names").get<std::vector<std::string>>();
  data.preparation = facts.at("preparation");
  if (!facts.at("value_scale").is_null()) data.value_scale = facts.at("value_scale").get<double>();
  const std::string targets = facts.at("targets");
  for (const auto kind :
       {store::TargetKind::kClasses, store::TargetKind::kLabels, store::TargetKind::kNumbers}) {
    if (targets == to_text(kind)) data.targets = kind;
  }
  model.origin_ = facts.at("origin").get<std::map<std::string, std::string>>();
  return model;
}

std::vector<float> OnnxModel::outputs_for(const store::Dataset& samples, bool unit) const {
  const HeldSignals signals;
  const TemporaryFolder folder(temporary_root(), "skyline-");
  const fs::path values = folder.path() / "samples";
  const fs::path written = folder.path() / "outputs";
  const std::size_t each = samples.class_names().size();
  const std::string_view bytes_of_samples = bytes_of(samples.test());
  check_room(folder.path(), bytes_of_samples.size());
  store::write_scratch_file(values, bytes_of_samples);
  std::vector<std::string> words{"--samples=" + values.string(), "--outputs=" + written.string(),
                                 "--each=" + std::to_string(each)};
  if (samples.test().has_pixels()) words.emplace_back("--pixels");
  if (unit) words.push_back("--divisor=" + objective::number_text(samples.value_scale()));
  (void)run_prep(infer_call(file_, std::move(words)), folder.path(), signals);
  std::vector<float> outputs(samples.test().count * each);
  const std::string bytes = store::read_file(written);
  require(bytes.size() == outputs.size() * sizeof(float), "python/skyline/prep writes all outputs");
  std::memcpy(outputs.data(), bytes.data(), bytes.size());
  return outputs;
}

}  // namespace skyline::app
