#include "store/journal/trial_json.hpp"

#include "skyline/core/error.hpp"

#include "trial/refit.hpp"
#include "trial/trial_fields.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

namespace skyline::store {
namespace {

using Json = nlohmann::ordered_json;

class FieldEncoder {
 public:
  explicit FieldEncoder(Json& line) : line_(line) {}
  void operator()(const char* name, trial::Origin origin) const { line_[name] = origin.text(); }
  void operator()(const char* name, std::uint32_t value) const {
    if (value != 0 || !trial::is_stated_if_set(name)) line_[name] = value;
  }
  void operator()(const char* name, std::uint64_t value) const { line_[name] = std::to_string(value); }
  void operator()(const char* name, double value) const { line_[name] = encode_number(value); }
  void operator()(const char* name, const std::vector<trial::TrialNumber>& numbers) const {
    line_[name] = numbers;
  }
  void operator()(const char* /*name*/, const trial::Start& start) const {
    if (const auto* inherit = trial::inherit_of(start)) {
      line_["inherits"] = {{"from", inherit->from}, {"share", encode_number(inherit->share)}};
    }
    if (const auto* earlier = std::get_if<trial::Continue>(&start)) line_["continues"] = earlier->from;
  }

 private:
  Json& line_;
};

class FieldDecoder {
 public:
  FieldDecoder(const Json& line, trial::TrialNumber number, const ArchitectureOf& earlier)
      : line_(line), number_(number), earlier_(earlier) {}
  void operator()(const char* name, trial::Origin& origin) const {
    origin = trial::Origin(decode_text(line_, name));
  }
  void operator()(const char* name, std::uint32_t& value) const {
    if (trial::is_stated_if_set(name) && !line_.contains(name)) return;
    value = decode_integer<std::uint32_t>(member(line_, name), name);
  }
  void operator()(const char* name, std::uint64_t& value) const { value = decode_large(line_, name); }
  void operator()(const char* name, double& value) const { value = decode_number(member(line_, name), name); }
  void operator()(const char* name, std::vector<trial::TrialNumber>& numbers) const;
  void operator()(const char* name, trial::Start& start) const;

 private:
  trial::Inherit inherited(const Json& inherits) const;

  const Json& line_;
  const trial::TrialNumber number_;
  const ArchitectureOf& earlier_;
};

void FieldDecoder::operator()(const char* name, std::vector<trial::TrialNumber>& numbers) const {
  const Json& list = member(line_, name);
  if (!list.is_array()) fail_expected(name, "a list", list);
  for (const Json& number : list) {
    numbers.push_back(decode_integer<std::uint64_t>(number, name));
    if (numbers.back() >= number_) fail_expected(name, "earlier trials", list);
  }
}

void FieldDecoder::operator()(const char* /*name*/, trial::Start& start) const {
  if (const auto inherits = line_.find("inherits"); inherits != line_.end()) start = inherited(*inherits);
  const auto continues = line_.find("continues");
  if (continues == line_.end()) return;
  trial::Continue earlier{decode_integer<std::uint64_t>(*continues, "continues")};
  if (const trial::Inherit* began = trial::inherit_of(start)) earlier.began = *began;
  start = std::move(earlier);
}

trial::Inherit FieldDecoder::inherited(const Json& inherits) const {
  trial::Inherit start;
  start.from = decode_integer<std::uint64_t>(member(inherits, "from"), "inherits.from");
  start.architecture = earlier_(start.from);
  if (start.architecture == nullptr) fail_expected("inherits.from", "an earlier trial", inherits);
  start.share = decode_number(member(inherits, "share"), "inherits.share");
  if (!(start.share >= 0 && start.share <= 1)) {
    fail_expected("inherits.share", "a number from 0 to 1", inherits);
  }
  return start;
}

}  // namespace

Json make_object(std::size_t members) {
  Json::object_t object;
  object.reserve(members);
  return object;
}

Json encode_number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

Json encode_value(const space::Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return encode_number(*number);
  if (std::holds_alternative<space::Null>(value)) return nullptr;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* sides = std::get_if<space::Sides>(&value)) return *sides;
  return std::get<std::int64_t>(value);
}

double decode_number(const Json& value, const char* name) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  fail_expected(name, "a number", value);
}

const Json& member(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) throw UserError(std::string("missing member `") + name + "`");
  return *found;
}

const std::string& decode_text(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_string()) fail_expected(name, "text", value);
  return value.get_ref<const std::string&>();
}

std::uint64_t decode_large(const Json& object, const char* name) {
  const std::string& text = decode_text(object, name);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail_expected(name, "a whole number as text", object[name]);
  }
  return value;
}

void fail_expected(const char* name, const char* expected, const Json& found) {
  throw UserError(std::string(name) + ": expected " + expected + ", got " + found.dump());
}

void add_final_repeat(Json& object, std::uint32_t repeat) {
  if (repeat == trial::kRefit) {
    object["refit"] = true;
  } else if (repeat > 0) {
    object["final_repeat"] = repeat;
  }
}

std::uint32_t read_final_repeat(const Json& object) {
  if (const auto refit = object.find("refit"); refit != object.end()) {
    if (*refit != true) fail_expected("refit", "true, or none", *refit);
    return trial::kRefit;
  }
  const auto repeat = object.find("final_repeat");
  return repeat == object.end() ? 0 : decode_integer<std::uint32_t>(*repeat, "final_repeat");
}

void add_name(Json& object, const trial::Trial& trial) {
  object["k"] = trial.number;
  object["phase"] = trial::to_text(trial.phase());
  add_final_repeat(object, trial.proposal.final_repeat);
  object["arch"] = space::to_text(trial.architecture().id);
}

void add_fields(Json& object, const trial::Trial& trial) {
  trial::for_each_field(FieldEncoder(object), trial);
}

void read_fields(const Json& object, const ArchitectureOf& earlier, trial::Trial& trial) {
  trial::for_each_field(FieldDecoder(object, trial.number, earlier), trial);
}

Json encode_measured(const std::vector<double>& values, const std::vector<trial::Metric>& metrics) {
  require(values.size() == metrics.size(), "a result does not have the metrics that its journal names");
  Json measured = Json::object();
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (!std::isnan(values[i])) measured[metrics[i].name] = encode_number(values[i]);
  }
  return measured;
}

std::vector<double> decode_measured(const Json& object, const std::vector<trial::Metric>& metrics) {
  const Json& measured = member(object, "metrics");
  if (!measured.is_object()) fail_expected("metrics", "a map", measured);
  std::vector<double> values;
  std::size_t known = 0;
  for (const trial::Metric& metric : metrics) {
    const auto found = measured.find(metric.name);
    const bool there = found != measured.end();
    if (there) ++known;
    values.push_back(there ? decode_number(*found, metric.name.c_str())
                           : std::numeric_limits<double>::quiet_NaN());
  }
  if (known != measured.size()) fail_expected("metrics", "only those that the header names", measured);
  return values;
}

Json encode_steps(const std::vector<trial::StepValues>& steps, const std::vector<trial::Metric>& metrics) {
  Json list = Json::array();
  for (const trial::StepValues& step : steps) {
    list.push_back({{"step", step.step}, {"metrics", encode_measured(step.values, metrics)}});
  }
  return list;
}

std::vector<trial::StepValues> decode_steps(const Json& list, const std::vector<trial::Metric>& metrics) {
  if (!list.is_array() || list.size() > trial::kMostDeclaredSteps) {
    fail_expected("steps", "a short list", list);
  }
  std::vector<trial::StepValues> steps;
  for (const Json& one : list) {
    const auto step = decode_integer<std::int64_t>(member(one, "step"), "step");
    if (!steps.empty() && step <= steps.back().step) fail_expected("steps", "ascending ones", list);
    steps.push_back({step, decode_measured(one, metrics)});
  }
  return steps;
}

Json encode_timing(const trial::TrialTiming& timing) {
  constexpr std::size_t kMembers = 10;
  Json object = make_object(kMembers);
  const auto encode = [&object](const char* name, const auto& value) {
    if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>) {
      if (value != 0 || !trial::is_stated_if_set(name)) object[name] = value;
    } else {
      object[name] = encode_number(value);
    }
  };
  trial::for_each_timing(encode, timing);
  return object;
}

trial::TrialTiming decode_timing(const Json& object) {
  trial::TrialTiming timing;
  const auto decode = [&object]<typename Field>(const char* name, Field& field) {
    if (trial::is_stated_if_set(name) && !object.contains(name)) return;
    if constexpr (std::is_integral_v<Field>) {
      field = decode_integer<Field>(member(object, name), name);
    } else {
      field = decode_number(member(object, name), name);
    }
  };
  trial::for_each_timing(decode, timing);
  return timing;
}

std::string provenance(const trial::Trial& trial, const RunStamp& run) {
  nlohmann::ordered_json object{{"skyline_version", run.skyline_version}, {"config_hash", run.config_hash}};
  add_name(object, trial);
  add_fields(object, trial);
  return object.dump();
}

std::string kept_provenance(trial::TrialNumber number, const trial::Trial& trial, const RunStamp& run) {
  const nlohmann::ordered_json object{{"skyline_version", run.skyline_version},
                                      {"config_hash", run.config_hash},
                                      {"kept_by", number},
                                      {"arch", space::to_text(trial.architecture().id)},
                                      {"horizon", trial.horizon().epochs},
                                      {"members", trial.members},
                                      {"seed", std::to_string(trial.seed)}};
  return object.dump();
}

}  // namespace skyline::store
