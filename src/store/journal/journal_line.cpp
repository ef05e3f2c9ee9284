#include "store/journal/journal_line.hpp"

#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"
#include "core/text/hash.hpp"
#include "store/journal/journal_header.hpp"
#include "store/journal/trial_json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace skyline::store {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSumStart = R"(,"sum":")";
constexpr std::string_view kSumEnd = R"("})";
constexpr std::size_t kSumDigits = 32;
constexpr std::size_t kMostMembers = 24;  // members of a trial's line
constexpr const char* kCosts = "costs";

/// Reads what a searcher expected of a trial: low, value, high. @pre expected is a member of a line
trial::Expected decode_expected(const Json& expected) {
  if (!expected.is_array() || expected.size() != 3) fail_expected(kExpected, "three numbers", expected);
  const auto number = [&](std::size_t i) { return decode_number(expected[i], kExpected); };
  return {number(0), number(1), number(2)};
}

bool is_encoded(const space::Value& value, const Json& found) {
  if (const auto* number = std::get_if<std::int64_t>(&value))
    return found.is_number_integer() && found == *number;
  const Json encoded = encode_value(value);
  return encoded == found && encoded.is_number_float() == found.is_number_float();
}

/// Adds the facts about an architecture for programs that cannot build it.
Json encode_facts(const space::Architecture& architecture, const space::SearchSpace& space) {
  Json facts;
  facts["used"] = architecture.used;
  for (const space::NamedCost& cost : space.costs()) facts[cost.name] = architecture.cost.*cost.value;
  return facts;
}

void encode_outcome(const trial::Outcome& outcome, const std::vector<trial::Metric>& metrics, Json& line) {
  line["status"] = trial::status_of(outcome);
  if (const auto* failure = std::get_if<trial::Failure>(&outcome)) {
    line["reason"] = failure->reason;
    return;
  }
  const auto& measured = std::get<trial::Measurements>(outcome);
  if (measured.extent == trial::Extent::kOutside) line["reason"] = measured.reason;
  line["metrics"] = encode_measured(measured.values, metrics);
  if (!measured.steps.empty()) line["steps"] = encode_steps(measured.steps, metrics);
}

void encode_trial(const trial::Trial& trial, const space::SearchSpace& space, Json& line) {
  const space::Architecture& architecture = trial.architecture();
  add_name(line, trial);
  Json& genotype = line["genotype"] = make_object(space.parameters().size());
  const std::vector<bool> in_use = space.in_use(architecture.genotype);
  for (std::size_t i = 0; i < space.parameters().size(); ++i) {
    const space::Parameter& parameter = space.parameters()[i];
    const space::Value& value = parameter.values.at(architecture.genotype.choices.at(i));
    genotype[parameter.name] = in_use[i] ? encode_value(value) : Json(nullptr);
  }
  for (std::size_t i = 0; i < architecture.counted.size(); ++i)
    line[kCosts][space.counted().at(i)] = encode_number(architecture.counted[i]);
  if (!space.registered_kinds().empty()) line["facts"] = encode_facts(architecture, space);
  add_fields(line, trial);
  if (const auto& expected = trial.proposal.expected) {
    line[kExpected] = {encode_number(expected->low), encode_number(expected->value),
                       encode_number(expected->high)};
  }
}

Json encode(const trial::CommittedTrial& committed, const std::vector<trial::Metric>& metrics,
            const space::SearchSpace& space, Json line) {
  encode_trial(committed.trial, space, line);
  encode_outcome(committed.outcome, metrics, line);
  line["where"] = encode_timing(committed.timing);
  return line;
}

}  // namespace

space::ArchId decode_arch_id(const Json& line) {
  const std::string& text = decode_text(line, "arch");
  std::uint64_t id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id, 16);
  if (space::to_text(space::ArchId{id}) != text) fail_expected("arch", "16 hexadecimal digits", line["arch"]);
  return space::ArchId{id};
}

std::string seal_line(const Json& line) {
  // Text that is not UTF-8 (e.g. a system's message) must not cost a result.
  std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.pop_back();
  return text + std::string(kSumStart) + checksum(text) + std::string(kSumEnd) + "\n";
}

std::string result_line(const trial::CommittedTrial& committed, const std::vector<trial::Metric>& metrics,
                        const space::SearchSpace& space) {
  return seal_line(encode(committed, metrics, space, make_object(kMostMembers)));
}

std::string entry_line(const trial::CommittedTrial& committed, const std::vector<trial::Metric>& metrics,
                       const space::SearchSpace& space, const std::vector<FailedTry>& failed_tries) {
  Json line = make_object(kMostMembers);
  line["position"] = committed.position;
  line = encode(committed, metrics, space, std::move(line));
  for (const FailedTry& failed : failed_tries) {
    const Json shown{{"rank", failed.rank}, {"host", failed.host}, {"reason", failed.reason}};
    line["where"]["failed_tries"].push_back(shown);
  }
  return seal_line(line);
}

std::string asked_line(const trial::Trial& trial, const space::SearchSpace& space) {
  Json line = make_object(kMostMembers);
  encode_trial(trial, space, line);
  return seal_line(line);
}

std::string loss_line(const RankLoss& loss) {
  Json line{{"lost", loss.rank}, {"host", loss.host}, {"cause", loss.cause}};
  Json& trials = line["trials"] = Json::array();
  for (const trial::TrialName trial : loss.trials) trials.push_back(to_text(trial));
  return seal_line(line);
}

bool is_loss(const Json& line) {
  return line.contains("lost");
}

std::string change_line(const Checksums& programs) {
  return seal_line({{kChanged, programs}});
}

bool is_change(const Json& line) {
  return line.contains(kChanged);
}

void read_checksums(const Json& line, const char* name, Checksums& checksums) {
  const Json& files = member(line, name);
  if (!files.is_object()) fail_expected(name, "checksums by file", files);
  for (const auto& file : files.items()) checksums[file.key()] = decode_text(files, file.key().c_str());
}

std::optional<Json> parse_line(std::string_view line) {
  constexpr std::size_t kSumBytes = kSumStart.size() + kSumDigits + kSumEnd.size();
  if (line.size() < kSumBytes) return std::nullopt;
  const std::string_view body = line.substr(0, line.size() - kSumBytes);
  const std::string expected = std::string(kSumStart) + checksum(body) + std::string(kSumEnd);
  if (line.substr(body.size()) != expected) {
    refuse_other_version(
        Json::parse(shallow_json(line), nullptr, false));  // lines of other versions may have other checksums
    return std::nullopt;
  }
  Json parsed = Json::parse(shallow_json(line), nullptr, false);
  if (!parsed.is_object()) throw UserError("expected a JSON object of at most 100 levels");
  return parsed;
}

space::Genotype EntryDecoder::genotype(const Json& values) const {
  const std::vector<space::Parameter>& parameters = space_.parameters();
  if (!values.is_object()) fail_expected("genotype", "a map", values);
  for (const auto& entry : values.items()) {
    const auto known = std::ranges::find(parameters, entry.key(), &space::Parameter::name);
    if (known == parameters.end())
      throw UserError("genotype: the space has no parameter `" + entry.key() + "`");
  }
  space::Genotype genotype;
  for (const space::Parameter& parameter : parameters) {
    const auto found = values.find(parameter.name);
    if (found == values.end()) throw UserError("genotype: no value of parameter `" + parameter.name + "`");
    auto place = std::ranges::find_if(parameter.values,
                                      [&](const space::Value& value) { return is_encoded(value, *found); });
    const bool is_none = place == parameter.values.end() && found->is_null();
    if (is_none && std::ranges::count(conditional_, parameter.name) > 0) {
      place = parameter.values.begin();  // one that is not in use
    } else if (place == parameter.values.end()) {
      throw UserError("genotype: " + found->dump() + " is not a value of parameter `" + parameter.name +
                      "` in this space");
    }
    genotype.choices.push_back(static_cast<std::uint32_t>(place - parameter.values.begin()));
  }
  return genotype;
}

std::shared_ptr<const space::Architecture> EntryDecoder::architecture(const Json& line) const {
  if (space_.missing_kind()) return recorded(line);
  const space::Architecture built = space_.build(genotype(member(line, "genotype")));
  const std::string id = space::to_text(built.id);
  if (const std::string& recorded = decode_text(line, "arch"); recorded != id) {
    throw UserError("arch: the journal says " + recorded + ", but this space builds " + id +
                    " from the genotype (the space has changed since)");
  }
  space::Architecture architecture = built.unbuilt();
  if (const auto costs = line.find(kCosts); costs != line.end()) {
    for (const std::string& name : space_.counted())
      architecture.counted.push_back(decode_number(member(*costs, name.c_str()), kCosts));
  }
  return std::make_shared<const space::Architecture>(std::move(architecture));
}

/// Returns an architecture that this program cannot build.
std::shared_ptr<const space::Architecture> EntryDecoder::recorded(const Json& line) const {
  const auto facts = line.find("facts");
  if (facts == line.end()) {
    throw UserError("a layer is of the kind `" + space_.missing_kind().value() +
                    "`, which this program does not have, and the line has no `facts`: use the program that "
                    "the run is of");
  }
  space::Architecture architecture;
  architecture.id = decode_arch_id(line);
  architecture.genotype = genotype(member(line, "genotype"));
  architecture.used = member(*facts, "used").get<std::vector<bool>>();
  if (architecture.used.size() != space_.parameters().size()) {
    fail_expected("facts.used", "a flag for each parameter", *facts);
  }
  for (const space::NamedCost& cost : space_.costs()) {
    architecture.cost.*cost.value = member(*facts, cost.name).get<std::int64_t>();
  }
  return std::make_shared<const space::Architecture>(std::move(architecture));
}

bool EntryDecoder::is_known(trial::TrialNumber number, space::ArchId id) const {
  const auto found = earlier(number);
  return found != nullptr && found->id == id;
}

std::shared_ptr<const space::Architecture> EntryDecoder::earlier(trial::TrialNumber number) const {
  const auto found = known_.find(number);
  return found != known_.end() ? found->second : earlier_.architecture_of(number);
}

trial::Outcome EntryDecoder::outcome(const Json& line) const {
  const std::string& status = decode_text(line, "status");
  const auto extent = std::ranges::find(trial::kExtents, status);
  if (extent == trial::kExtents.end())
    return trial::Failure{trial::parse_failure_kind(status), decode_text(line, "reason")};
  trial::Measurements measured;
  measured.extent = static_cast<trial::Extent>(extent - trial::kExtents.begin());
  const bool is_outside = measured.extent == trial::Extent::kOutside;
  if (is_outside) measured.reason = decode_text(line, "reason");
  if (is_outside && !line.contains("metrics")) {  // versions before wrote no values
    measured.values.assign(metrics_.size(), std::nan(""));
  } else {
    measured.values = decode_measured(line, metrics_);
  }
  if (const auto steps = line.find("steps"); steps != line.end())
    measured.steps = decode_steps(*steps, metrics_);
  return measured;
}

trial::Trial EntryDecoder::decode_asked(const Json& line,
                                        std::shared_ptr<const space::Architecture> architecture) const {
  trial::Trial trial;
  trial.number = decode_integer<std::uint64_t>(member(line, "k"), "k");
  if (trial::parse_phase(decode_text(line, "phase")) == trial::Phase::kFinal) {
    trial.proposal.trains = trial.number;
    trial.proposal.final_repeat = read_final_repeat(line);
  }
  trial.proposal.architecture = std::move(architecture);
  if (trial.number > earlier_.size() + trial::CommitLog::kFarthestAhead) {
    fail_expected("k", "a number near the position", line["k"]);
  }
  read_fields(
      line, [this](trial::TrialNumber number) { return earlier(number); }, trial);
  if (const auto expected = line.find(kExpected); expected != line.end())
    trial.proposal.expected = decode_expected(*expected);
  if (trial.members == 0) fail_expected("members", "1 or more", line["members"]);
  const space::ArchId id = trial.architecture().id;
  if (trial.is_final() && !is_known(trial.number, id)) {
    fail_expected("k", "the number of an earlier trial of this architecture, which this one trains",
                  line["k"]);
  }
  if (trial.continues() != nullptr && !is_known(trial.continues()->from, id)) {
    fail_expected("continues", "the number of an earlier trial of this architecture", line["continues"]);
  }
  return trial;
}

trial::CommittedTrial EntryDecoder::decode(const Json& line,
                                           std::shared_ptr<const space::Architecture> architecture) const {
  return {decode_asked(line, std::move(architecture)), outcome(line), decode_timing(member(line, "where"))};
}

}  // namespace skyline::store
