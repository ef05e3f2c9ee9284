#include "store/arrays/preparation.hpp"

#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"

#include "core/text/foreign_text.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace skyline::store {
namespace {

using Json = nlohmann::ordered_json;

Json to_node(const Feature& feature) {
  Json node{{"column", feature.column}};
  if (feature.subtract != 0) node["subtract"] = feature.subtract;
  if (feature.missing) node["missing"] = *feature.missing;
  if (feature.is_missing) node["is_missing"] = true;
  if (feature.is) node["is"] = *feature.is;
  if (!feature.is_not.empty()) node["is_not"] = feature.is_not;
  return node;
}

Feature read_feature(const Json& node) {
  Feature feature{.column = node.at("column").get<std::string>(), .subtract = node.value("subtract", 0.0)};
  if (node.contains("missing")) feature.missing = node.at("missing").get<double>();
  feature.is_missing = node.value("is_missing", false);
  if (node.contains("is")) feature.is = node.at("is").get<std::string>();
  if (node.contains("is_not")) feature.is_not = node.at("is_not").get<std::vector<std::string>>();
  return feature;
}

}  // namespace

std::string Feature::name() const {
  if (is_missing) return column + " is missing";
  if (is) return column + " = " + *is;
  return is_word() ? column + " = other" : column;
}

std::string to_json(const Preparation& preparation) {
  Json root{{"has_names", preparation.has_names}};
  for (const Feature& feature : preparation.features) root["features"].push_back(to_node(feature));
  for (const TargetColumn& target : preparation.targets) {
    Json node{{"column", target.column}};
    if (target.mean != 0 || target.deviation != 1) {
      node["mean"] = target.mean;
      node["deviation"] = target.deviation;
    }
    root["targets"].push_back(std::move(node));
  }
  if (!preparation.left_out.empty()) root["left_out"] = preparation.left_out;
  if (!preparation.id.empty()) root["id"] = preparation.id;
  return root.dump();
}

Preparation read_preparation(const std::string& json) {
  const auto fail = [&] {
    throw UserError("expected a preparation as `skyline prep` writes it, got " + shortened(printable(json)));
  };
  Preparation preparation;
  try {
    const Json root = Json::parse(shallow_json(json));
    preparation.has_names = root.at("has_names").get<bool>();
    for (const Json& node : root.at("features")) preparation.features.push_back(read_feature(node));
    for (const Json& node : root.value("targets", Json::array())) {
      preparation.targets.push_back(
          {node.at("column").get<std::string>(), node.value("mean", 0.0), node.value("deviation", 1.0)});
    }
    preparation.left_out = root.value("left_out", std::vector<std::string>{});
    preparation.id = root.value("id", "");
  } catch (const Json::exception&) {
    fail();
  }
  const auto has_spread = [](const TargetColumn& target) { return target.deviation > 0; };
  if (!std::ranges::all_of(preparation.targets, has_spread)) fail();
  return preparation;
}

std::size_t count_different(std::vector<double> values) {
  std::ranges::sort(values);
  return static_cast<std::size_t>(std::ranges::unique(values).begin() - values.begin());
}

std::size_t count_floats(const std::vector<double>& values, double subtract) {
  std::vector<double> floats;
  floats.reserve(values.size());
  for (const double value : values)
    floats.push_back(static_cast<double>(static_cast<float>(value - subtract)));
  return count_different(std::move(floats));
}

double find_centre(const std::vector<double>& values, const std::string& label, const std::string& drop,
                   std::vector<std::string>& notes) {
  const auto is_float = [](double value) { return static_cast<double>(static_cast<float>(value)) == value; };
  if (std::ranges::all_of(values, is_float)) return 0;
  const std::size_t different = count_different(values);
  const std::size_t plain = count_floats(values);
  if (plain == different) return 0;
  const double offset = values.front();
  const std::size_t centred = count_floats(values, offset);
  const std::string facts = "its " + std::to_string(different) + " different values ";
  if (centred > plain) {
    notes.push_back(label + ": " + objective::number_text(offset) + " is subtracted: " + facts + "would be " +
                    std::to_string(plain) + " in float32" +
                    (centred < different ? ", and are " + std::to_string(centred) : ""));
    return offset;
  }
  if (100 * plain < 99 * different) {
    notes.push_back("check: " + label + ": " + facts + "are " + std::to_string(plain) +
                    " in float32 (split it into two columns, or " + drop + ")");
  }
  return 0;
}

}  // namespace skyline::store
