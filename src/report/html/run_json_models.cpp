// The layer graphs of the front, and what its networks answer to the test set, for the page.
#include "skyline/space/layer_kind.hpp"

#include "report/html/run_json.hpp"

#include <string>
#include <utility>

namespace skyline::report {
namespace {

constexpr int kAnswersVersion = 1;  // version of the format of answer files

/// Brings pictures of samples into the form that a page reads fast, or removes them.
void change_pictures(Json& answers, bool shown) {
  for (Json& sample : answers["worst"]) {
    if (!sample.contains("pixels")) continue;
    const std::string pixels = sample.at("pixels");
    sample.erase("pixels");
    if (shown && pixels.find_first_not_of("0123456789abcdef") == std::string::npos)
      sample["pixels"] = base64_of_hex(pixels);
  }
}

constexpr std::size_t kMostNetworks = 60;
constexpr std::size_t kMostLayers = 20'000;  // layers of all graphs together

Json attributes_json(const space::Layer& layer) {
  Json json = Json::object();
  for (const auto& [name, value] : layer.attributes) json[name] = space::to_text(value);
  return json;
}

/// Returns whether the page draws the layer in the box of its input, e.g. a norm or an activation. Such a
/// layer has one input, and each value of its output depends on one feature and place of it.
bool follows_input(const space::Layer& layer) {
  return layer.inputs.size() == 1 && layer.output == layer.input() &&
         layer.attributes.find("kernel") == nullptr && traits_of(layer).features == space::Features::kKept;
}

Json layer_json(const space::Layer& layer) {
  return {{"name", layer.name},
          {"kind", layer.kind},
          {"inputs", layer.inputs},
          {"follows_input", follows_input(layer)},
          {"attributes", attributes_json(layer)},
          {"output", space::to_text(layer.output)},
          {"parameters", layer.cost.parameters},
          {"flops", layer.cost.flops}};
}

}  // namespace

Json networks_json(const ReportedRun& run) {
  Json json = Json::object();
  if (!run.opened.space.has_network() || run.opened.space.missing_kind()) return json;
  std::size_t layers = 0;
  for (const trial::TrialNumber number : members_of(run.opened.state)) {
    const run::SharedTrial member = run.opened.state.search_trial(number);
    const space::Network& network = member->trial.architecture().network();
    layers += network.layers.size();
    if (json.size() >= kMostNetworks || layers > kMostLayers) break;
    Json list = Json::array();
    for (const space::Layer& layer : network.layers) list.push_back(layer_json(layer));
    json[std::to_string(number)] = {{"input", space::to_text(network.input)}, {"layers", std::move(list)}};
  }
  return json;
}

Json answers_json(const ReportedRun& run) {
  Json json = Json::object();
  for (const auto& [number, text] : run.answers) {
    try {
      Json answers = Json::parse(text);
      if (answers.at("version") != kAnswersVersion) continue;
      for (const char* key : {"names", "samples", "targets"}) (void)answers.at(key);
      if (answers.contains("worst")) change_pictures(answers, run.shows_samples);
      answers.erase("replicates");
      json[std::to_string(number)] = std::move(answers);
    } catch (const Json::exception&) {
      // The file is damaged, and the page does without it.
    }
  }
  return json;
}

}  // namespace skyline::report
