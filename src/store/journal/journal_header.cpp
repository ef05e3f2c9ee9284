#include "store/journal/journal_header.hpp"

#include "skyline/core/error.hpp"

#include "core/text/wording.hpp"
#include "store/journal/journal_line.hpp"
#include "store/journal/trial_json.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace skyline::store {
namespace {

using Json = nlohmann::ordered_json;
using trial::Metric;

constexpr std::string_view kJournalFormat = "skyline-journal";
constexpr int kJournalVersion = 9;
constexpr int kNamesOnly = 8;  // version that had names of metrics, but no descriptions

enum class Need { kMay, kMust };

/// Lists the facts in a journal's header, here and nowhere else. Calls `visit(name, need, facts...)` for each
/// of them, with the values that the given headers have for it.
template <typename Visitor, typename... Headers>
void for_each_fact(Visitor&& visit, Headers&... headers) {
  visit("skyline_version", Need::kMust, headers.skyline_version...);
  visit("config_hash", Need::kMust, headers.config_hash...);
  visit("seed", Need::kMust, headers.seed...);
  visit("metrics", Need::kMust, headers.metrics...);
  visit("device", Need::kMay, headers.device...);
  visit("deterministic", Need::kMay, headers.deterministic...);
  visit("pruning", Need::kMay, headers.pruning...);
  visit("conditions", Need::kMay, headers.conditions...);
  visit("programs", Need::kMay, headers.programs...);
}

/// Lists the members in the description of a metric, here and nowhere else. Calls `visit(name, members...)`
/// for each of them, with the values that the given metrics have for it.
template <typename Visitor, typename... Metrics>
void for_each_member(Visitor&& visit, Metrics&... metrics) {
  visit("name", metrics.name...);
  visit("better", metrics.better...);
  visit("low", metrics.range.low...);
  visit("high", metrics.range.high...);
  visit("unit", metrics.unit...);
  visit("when", metrics.when...);
  visit("of", metrics.of...);
  visit("ideal", metrics.ideal...);
  visit("course", metrics.has_course...);
  visit("repeats", metrics.repeats...);
}

constexpr std::array<std::string_view, 2> words(space::ConditionRules /*type*/) {
  return {"binary", "exact"};
}
constexpr std::array<std::string_view, 2> words(trial::Better /*type*/) {
  return {"higher", "lower"};
}
constexpr std::array<std::string_view, 2> words(Metric::When /*type*/) {
  return {"every", "full"};
}
constexpr std::array<std::string_view, 4> words(Metric::Of /*type*/) {
  return {"none", "train", "validation", "test"};
}

template <typename T>
Json encode(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return words(value).at(static_cast<std::size_t>(value));
  } else {
    return value;
  }
}
Json encode(double value) {
  return encode_number(value);
}
Json encode(const std::optional<double>& value) {
  return encode_number(value.value());
}
Json encode(std::uint64_t value) {
  return std::to_string(value);
}
/// Members with their default are left out, except `better`.
Json encode(const Metric& metric) {
  const Metric preset;
  Json json = Json::object();
  for_each_member(
      [&]<typename T>(const char* name, const T& value, const T& by_default) {
        if (std::is_same_v<T, trial::Better> || !(value == by_default)) json[name] = encode(value);
      },
      metric, preset);
  return json;
}
Json encode(const std::vector<Metric>& metrics) {
  Json list = Json::array();
  for (const Metric& metric : metrics) list.push_back(encode(metric));
  return list;
}

template <typename T>
void decode(const Json& object, const char* name, T& value) {
  if constexpr (std::is_enum_v<T>) {
    constexpr auto known = words(T());
    const auto found = std::ranges::find(known, decode_text(object, name));
    if (found == known.end()) {
      fail_expected(name, ("one of " + joined({known.begin(), known.end()})).c_str(), object[name]);
    }
    value = static_cast<T>(found - known.begin());
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = decode_text(object, name);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    value = decode_large(object, name);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!object[name].is_boolean()) fail_expected(name, "true or false", object[name]);
    value = object[name].get<bool>();
  } else {
    value = decode_number(object[name], name);
  }
}

void refuse_unknown(const Json& object, const std::vector<std::string_view>& known,
                    const std::string& owner) {
  for (const auto& fact : object.items()) {
    if (std::ranges::find(known, fact.key()) != known.end()) continue;
    throw UserError(owner + " has the fact `" + fact.key() + "`, which this version does not know");
  }
}

/// A journal of version 8 has only the name, from which everything is guessed.
Metric described_by_name(const std::string& name) {
  constexpr std::array<std::string_view, 4> kShares{"accuracy", "top_k", "macro_f1", "auc"};
  constexpr std::array<std::string_view, 5> kNotNegative{"loss", "mse", "mae", "latency_ms", "steps"};
  Metric metric{.name = name};
  std::string_view base = name;
  for (const Metric::Of of : {Metric::Of::kTrain, Metric::Of::kValidation, Metric::Of::kTest}) {
    const std::string set = std::string(words(of).at(static_cast<std::size_t>(of))) + "_";
    if (!name.starts_with(set)) continue;
    metric.of = of;
    base.remove_prefix(set.size());
  }
  if (std::ranges::find(kShares, base) != kShares.end()) metric.range = {0, 1};
  if (std::ranges::find(kNotNegative, base) != kNotNegative.end()) {
    metric.better = trial::Better::kLower;
    metric.range.low = 0;
  }
  if (name.ends_with("_ms")) metric.unit = "ms";
  metric.has_course = metric.of == Metric::Of::kValidation && base != "loss";
  if (metric.of == Metric::Of::kTest) metric.repeats = "validation_" + std::string(base);
  return metric;
}

Metric decode_metric(const Json& json) {
  if (json.is_string()) return described_by_name(json.get<std::string>());
  if (!json.is_object()) fail_expected("metrics", "descriptions", json);
  Metric metric;
  std::vector<std::string_view> known;
  for_each_member(
      [&](const char* name, auto& value) {
        known.emplace_back(name);
        if (!json.contains(name)) return;
        if constexpr (std::is_same_v<decltype(value), std::optional<double>&>) {
          decode(json, name, value.emplace());
        } else {
          decode(json, name, value);
        }
      },
      metric);
  refuse_unknown(json, known, "metric `" + metric.name + "`");
  return metric;
}

void decode(const Json& line, const char* name, std::vector<Metric>& metrics) {
  const Json& list = line[name];
  if (!list.is_array()) fail_expected(name, "a list", list);
  for (const Json& json : list) metrics.push_back(decode_metric(json));
  trial::check_metrics(metrics);
}

void decode(const Json& line, const char* name, Checksums& checksums) {
  read_checksums(line, name, checksums);
}

}  // namespace

bool same_metrics(const JournalHeader& recorded, const std::vector<Metric>& measured) {
  // What the journal does not hold of a metric, such as `is_before`, does not count: it is not in `recorded`.
  if (!recorded.has_names_only) return encode(recorded.metrics) == encode(measured);
  return trial::names_of(recorded.metrics) == trial::names_of(measured);
}

std::string to_text(const Metric& metric) {
  return encode(metric).dump();
}

std::string header_line(const JournalHeader& header) {
  const JournalHeader preset;
  Json line{{"format", kJournalFormat}, {"version", kJournalVersion}};
  for_each_fact(
      [&](const char* name, Need need, const auto& fact, const auto& by_default) {
        if (need == Need::kMust || !(fact == by_default)) line[name] = encode(fact);
      },
      header, preset);
  return seal_line(line);
}

void refuse_other_version(const Json& line) {
  if (!line.is_object() || !line.contains("version") || line.value("format", Json()) != kJournalFormat)
    return;
  const Json& version = line["version"];
  if (version == kJournalVersion || version == kNamesOnly) return;
  throw UserError("journal of version " + version.dump() + ", this program reads versions " +
                  std::to_string(kNamesOnly) + " and " + std::to_string(kJournalVersion));
}

JournalHeader decode_header(const Json& line) {
  const Json& format = member(line, "format");
  if (format != kJournalFormat) fail_expected("format", "\"skyline-journal\"", format);
  (void)decode_integer<int>(member(line, "version"), "version");
  refuse_other_version(line);
  JournalHeader header;
  header.has_names_only = line["version"] == kNamesOnly;
  std::vector<std::string_view> known{"format", "version", "sum"};
  for_each_fact(
      [&](const char* name, Need need, auto& fact) {
        known.emplace_back(name);
        if (need == Need::kMust) (void)member(line, name);
        if (line.contains(name)) decode(line, name, fact);
      },
      header);
  refuse_unknown(line, known, "the journal");
  if (line.contains("device") && header.device != "cpu" && header.device != "gpu") {
    fail_expected("device", "\"cpu\" or \"gpu\"", line["device"]);
  }
  return header;
}

}  // namespace skyline::store
