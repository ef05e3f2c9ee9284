#include "app/config/exported_network.hpp"

#include "skyline/core/config_node.hpp"
#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"

#include "core/config/config_text.hpp"
#include "core/text/foreign_text.hpp"
#include "core/version.hpp"

#include <string>
#include <utility>

namespace skyline::app {
namespace {

std::string input_text(const DataOptions& data) {
  const double scale = data.value_scale.value_or(1);
  if (scale == 1) return "values as stored; the model normalizes them";
  return "values as stored, up to " + objective::number_text(scale) + "; the model scales them";
}

std::string list_text(const std::vector<std::string>& texts) {
  std::vector<ConfigNode> items;
  for (const std::string& text : texts) items.push_back(ConfigNode::make_scalar(printable(text), {}, true));
  std::string json = to_json(ConfigNode::make_list(std::move(items), {}));
  std::erase(json, '\n');
  return json;
}

}  // namespace

model_export::Metadata network_metadata(const space::SearchSpace& space,
                                        const space::Architecture& architecture, const DataOptions& data) {
  model_export::Metadata metadata{{"skyline_version", program_version()},
                                  {"arch_id", space::to_text(architecture.id)},
                                  {"genotype", space.describe(architecture.genotype)}};
  if (data.file.empty()) return metadata;
  const store::TargetKind targets = data.targets.value_or(store::TargetKind::kClasses);
  metadata.emplace_back("targets", store::to_text(targets));
  metadata.emplace_back("class_names", list_text(data.class_names));
  metadata.emplace_back("input", input_text(data));
  if (!data.preparation.empty()) metadata.emplace_back("preparation", data.preparation);
  return metadata;
}

std::vector<store::TargetColumn> scaled_targets(const DataOptions& data) {
  if (data.preparation.empty() || data.targets != store::TargetKind::kNumbers) return {};
  return store::read_preparation(data.preparation).targets;
}

model_export::ExportedModel exported_network(const space::Network& network, const store::WeightsFile& weights,
                                             const DataOptions& data, model_export::Metadata metadata) {
  model_export::ExportedModel model{network, weights, {}, {}, std::move(metadata)};
  if (data.file.empty()) return model;
  const double scale = data.value_scale.value_or(1);
  const bool standard = data.normalization == evaluate::Normalization::kStandard;
  const auto channels = static_cast<std::size_t>(network.input.channels);
  if (standard && (data.mean.size() != channels || data.deviation.size() != channels)) {
    throw UserError("data.mean and data.deviation of the configuration: expected " +
                    std::to_string(channels) + " numbers, as the network's input has channels");
  }
  for (std::size_t c = 0; c < channels; ++c) {
    const double mean = standard ? data.mean.at(c) : 0;
    const double deviation = standard && data.deviation.at(c) > 0 ? data.deviation.at(c) : 1;
    model.offset.push_back(static_cast<float>(mean * scale));
    model.factor.push_back(static_cast<float>(1 / (scale * deviation)));
  }
  for (const store::TargetColumn& target : scaled_targets(data)) {
    model.output_factor.push_back(static_cast<float>(target.deviation));
    model.output_offset.push_back(static_cast<float>(target.mean));
    model.output_transform = target.transform;
  }
  return model;
}

}  // namespace skyline::app
