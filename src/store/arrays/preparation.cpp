#include "store/arrays/preparation.hpp"

#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

namespace skyline::store {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<TargetColumn::Transform, 2> kTransforms = {TargetColumn::Transform::kLog,
                                                                TargetColumn::Transform::kLog1p};

SampleFeature read_feature(const Json& node) {
  SampleFeature feature{.column = node.at("column").get<std::string>(),
                        .subtract = node.value("subtract", 0.0)};
  if (node.contains("missing")) feature.missing = node.at("missing").get<double>();
  feature.is_missing = node.value("is_missing", false);
  if (node.contains("is")) feature.is = node.at("is").get<std::string>();
  if (node.contains("is_not")) feature.is_not = node.at("is_not").get<std::vector<std::string>>();
  feature.date = node.value("date", "");
  feature.order = node.value("order", "");
  return feature;
}

/// Returns nullopt for a target that no preparation has.
std::optional<TargetColumn> read_target(const Json& node) {
  TargetColumn target{.column = node.at("column").get<std::string>(),
                      .mean = node.value("mean", 0.0),
                      .deviation = node.value("deviation", 1.0)};
  if (node.contains("transform")) {
    const auto word = node.at("transform").get<std::string>();
    const auto found = std::ranges::find(kTransforms, word, [](auto each) { return to_text(each); });
    if (found == kTransforms.end()) return std::nullopt;
    target.transform = *found;
  }
  return target.deviation > 0 ? std::optional(target) : std::nullopt;
}

/// Returns the spectrograms that sounds become, or nullopt if they stay samples.
/// @throws Json::exception for missing numbers and others than `skyline prep` writes
std::optional<LogMel> log_mel_in(const Json& root) {
  const Json& node = root.at("sound");
  if (node.value("features", Json()) != "log-mel") return std::nullopt;
  constexpr std::int64_t kMostLength = std::int64_t{1} << 29;
  constexpr std::int64_t kMostWindow = std::int64_t{1} << 16;
  constexpr std::int64_t kMostBands = 256;
  const auto count = [&](const char* key, std::int64_t most) {
    const Json& number = node.at(key);
    const std::int64_t value = number.is_number_integer() ? number.get<std::int64_t>() : 0;
    if (value < 1 || value > most) throw Json::other_error::create(500, key, &node);
    return value;
  };
  LogMel made{.rate = count("rate", kMostLength),
              .length = count("length", kMostLength),
              .window = count("window", kMostWindow),
              .hop = count("hop", kMostLength),
              .bands = count("bands", kMostBands),
              .low = node.at("low").get<double>(),
              .high = node.at("high").get<double>(),
              .fft = count("fft", kMostWindow)};
  const bool fits = made.window <= made.length && made.window <= made.fft && made.low >= 0 &&
                    made.low < made.high && made.high <= static_cast<double>(made.rate) / 2;
  if (!fits) throw Json::other_error::create(500, "log-mel", &node);
  return made;
}

/// Returns how samples are made from sounds or recordings; empty for those of tables.
std::string signal_in(const Json& root) {
  for (const char* const kind : {"sound", "windows"}) {
    if (root.is_object() && root.contains(kind) && root.at(kind).is_object()) {
      return Json{{kind, root.at(kind)}}.dump();
    }
  }
  return "";
}

}  // namespace

std::string_view to_text(TargetColumn::Transform transform) {
  if (transform == TargetColumn::Transform::kLog) return "log";
  return transform == TargetColumn::Transform::kLog1p ? "log1p" : "";
}

double TargetColumn::stored(double number) const {
  if (transform == Transform::kLog) number = std::log(number);
  if (transform == Transform::kLog1p) number = std::log1p(number);
  return (number - mean) / deviation;
}

double TargetColumn::number(double stored) const {
  const double value = stored * deviation + mean;
  if (transform == Transform::kLog) return std::exp(value);
  return transform == Transform::kLog1p ? std::expm1(value) : value;
}

std::string SampleFeature::name() const {
  if (is_missing) return column + " is missing";
  if (is) return column + " = " + *is;
  if (!date.empty()) return column + " (" + date + ")";
  return is_word() ? column + " = other" : column;
}

Preparation read_preparation(const std::string& json) {
  const auto fail = [&] {
    throw UserError("expected a preparation as `skyline prep` writes it, got " + shortened(printable(json)));
  };
  Preparation preparation;
  try {
    const Json root = Json::parse(shallow_json(json));
    preparation.signal = signal_in(root);
    if (preparation.of_sounds()) preparation.log_mel = log_mel_in(root);
    if (preparation.signal.empty()) {
      preparation.has_names = root.at("has_names").get<bool>();
      for (const Json& node : root.at("features")) preparation.features.push_back(read_feature(node));
    }
    for (const Json& node : root.value("targets", Json::array())) {
      const std::optional<TargetColumn> target = read_target(node);
      if (!target) fail();
      preparation.targets.push_back(*target);
    }
    preparation.left_out = root.value("left_out", std::vector<std::string>{});
    preparation.id = root.value("id", "");
  } catch (const Json::exception&) {
    fail();
  }
  const auto differs = [](const TargetColumn& left, const TargetColumn& right) {
    return left.transform != right.transform;
  };
  if (std::ranges::adjacent_find(preparation.targets, differs) != preparation.targets.end()) fail();
  return preparation;
}

}  // namespace skyline::store
