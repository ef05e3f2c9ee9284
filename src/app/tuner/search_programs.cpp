#include "app/tuner/search_programs.hpp"

#include "skyline/core/error.hpp"
#include "skyline/objective/objective_set.hpp"

#include "app/tuner/asked_program.hpp"
#include "app/tuner/tuner_lines.hpp"
#include "core/backoff.hpp"
#include "core/config/foreign_words.hpp"
#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "store/journal/known_values.hpp"
#include "store/journal/trial_json.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace skyline::app {
namespace {

constexpr const char* kTunerSubject = "search.run: the tuner";

/// Speaks with a program in lines of JSON.
class ProgramTuner final : public search::Tuner {
 public:
  ProgramTuner(Asking asking, const search::TunerTask& task)
      : space_(task.space), objectives_(task.objectives), process_(std::move(asking)) {
    process_.send(task_line(task), false);
  }

  void ask(const search::TunerQuestion& question) override {
    process_.send(question_line(question, space_), true);
  }
  void repeat(const search::TunerQuestion& question, const std::vector<space::Genotype>& recorded) override {
    if (!std::exchange(has_repeated_, true)) {
      log::info(std::string(kTunerSubject) +
                " gets the questions and results of the journal again: if its proposals depend on more than "
                "these and their seeds, the next ones are not those of an undisturbed run");
    }
    process_.send(question_line(question, space_, &recorded), false);
  }
  void tell(std::optional<trial::TrialNumber> number, const trial::CommittedTrial& result) override {
    process_.send(result_line(number, result, space_, objectives_), false);
  }
  std::optional<search::TunerAnswer> answer() override {
    const std::optional<std::string> line = process_.receive();
    if (!line) return std::nullopt;
    try {
      return read_answer(*line, space_);
    } catch (const UserError& mistake) {
      throw UserError(std::string(kTunerSubject) + ": its answer: " + mistake.what());
    }
  }
  void end() override { process_.end(); }

 private:
  const space::SearchSpace space_;
  const objective::ObjectiveSet objectives_;
  bool has_repeated_ = false;
  AskedProgram process_;
};

using Json = nlohmann::ordered_json;

constexpr std::chrono::microseconds kFirstPause{50};
constexpr std::chrono::milliseconds kLongestPause{10};

std::string quoted_json(const Json& value) {
  return in_quotes(shortened(value.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

/// Reads the costs of one genotype. @throws UserError without the parameters
std::vector<double> costs_of(const Json& counted, const std::vector<trial::GivenMetric>& metrics) {
  if (counted.is_string()) throw UserError(printable(counted.get<std::string>()));
  if (!counted.is_object()) throw UserError("expected its costs by name, got " + quoted_json(counted));
  std::vector<std::string> names;
  for (const trial::GivenMetric& metric : metrics) names.push_back(metric.name);
  for (const auto& item : counted.items()) {
    if (std::ranges::find(names, item.key()) == names.end()) {
      throw UserError("costs.metrics has no " + in_quotes(item.key()) + ", " +
                      suggestion(item.key(), names, NamesOf::kUser));
    }
  }
  std::vector<double> costs;
  for (const trial::GivenMetric& metric : metrics) {
    const auto found = counted.find(metric.name);
    if (found == counted.end()) throw UserError("lacks " + in_quotes(metric.name));
    if (!found->is_number() || !metric.range.holds(found->get<double>())) {
      throw UserError(metric.name + ": expected " + objective::to_text(metric.range) + ", got " +
                      quoted_json(*found));
    }
    costs.push_back(found->get<double>());
  }
  return costs;
}

/// Reads the answer of a program that counts costs: `{"costs": [{"params": 1e6}, ...]}`, one for each
/// genotype, or a text in its place that says why it has none.
/// @param genotypes  those that the program was asked about, for messages
/// @param metrics    metrics that it counts
/// @return  values of the metrics in their order, for each genotype
/// @throws UserError for another answer, with the parameters
std::vector<std::vector<double>> read_costs(std::string_view line, std::span<const space::Genotype> genotypes,
                                            const space::SearchSpace& space,
                                            const std::vector<trial::GivenMetric>& metrics) {
  const std::string subject = "costs.run: the answer of the program: ";
  const Json answer = Json::parse(shallow_json(line), nullptr, false);
  const auto list = answer.is_object() ? answer.find("costs") : answer.end();
  if (list == answer.end() || !list->is_array() || list->size() != genotypes.size()) {
    throw UserError(subject + "expected `{\"costs\": [...]}` with " + std::to_string(genotypes.size()) +
                    " members, got " + in_quotes(shortened(line)));
  }
  std::vector<std::vector<double>> costs;
  for (std::size_t i = 0; i < genotypes.size(); ++i) {
    try {
      costs.push_back(costs_of((*list)[i], metrics));
    } catch (const UserError& problem) {
      throw UserError(subject + space.describe(genotypes[i]) + ": " + problem.what());
    }
  }
  return costs;
}

class ProgramCounter final : public search::CostCounter {
 public:
  ProgramCounter(const CostsOptions& options, const space::SearchSpace& space, const store::RunPaths& paths)
      : options_(options), space_(space), paths_(paths) {}

  std::vector<std::vector<double>> count(
      std::span<const std::shared_ptr<const space::Architecture>> architectures) override {
    if (!known_) known_ = store::read_counted_costs(paths_, options_.metrics.size());
    std::vector<const space::Architecture*> unknown;
    for (const auto& each : architectures) {
      if (!known_->contains(each->id)) unknown.push_back(each.get());
    }
    if (!unknown.empty()) ask(unknown);
    std::vector<std::vector<double>> counted;
    for (const auto& each : architectures) counted.push_back(known_->at(each->id));
    return counted;
  }

  void stop() override { is_stopped_ = true; }

 private:
  void ask(const std::vector<const space::Architecture*>& unknown) {
    if (!program_) {
      program_.emplace(Asking{.run = options_.run,
                              .variable = "SKYLINE_COSTS_FD",
                              .log = paths_.costs_log(),
                              .subject = "costs.run: the program",
                              .timeout_key = "costs.timeout",
                              .timeout_s = options_.timeout_s});
    }
    std::vector<space::Genotype> genotypes;
    for (const space::Architecture* each : unknown) genotypes.push_back(each->genotype);
    program_->send(count_line(genotypes, space_), true);
    const std::vector<std::vector<double>> costs = read_costs(answer(), genotypes, space_, options_.metrics);
    std::vector<std::pair<space::ArchId, std::vector<double>>> answers;
    for (std::size_t i = 0; i < unknown.size(); ++i) answers.emplace_back(unknown[i]->id, costs[i]);
    store::append_counted_costs(paths_, answers);
    known_->insert(answers.begin(), answers.end());
  }

  std::string answer() {
    Backoff pause(kFirstPause, kLongestPause);
    while (!is_stopped_) {
      if (std::optional<std::string> line = program_->receive()) return *std::move(line);
      pause.pause();
    }
    throw Stopped();
  }

  const CostsOptions options_;
  const space::SearchSpace space_;
  const store::RunPaths paths_;
  std::optional<store::CountedCosts> known_;
  std::optional<AskedProgram> program_;
  std::atomic<bool> is_stopped_ = false;
};

}  // namespace

search::TunerStart tuner_start(const store::RunPaths& paths) {
  return [paths](const search::TunerProgram& program, const search::TunerTask& task) {
    return std::make_unique<ProgramTuner>(Asking{.run = program.run,
                                                 .variable = "SKYLINE_TUNER_FD",
                                                 .log = paths.tuner_log(),
                                                 .subject = kTunerSubject,
                                                 .timeout_key = "search.timeout",
                                                 .timeout_s = program.timeout_s},
                                          task);
  };
}

std::shared_ptr<search::CostCounter> make_counter(const CostsOptions& options,
                                                  const space::SearchSpace& space,
                                                  const store::RunPaths& paths) {
  return std::make_shared<ProgramCounter>(options, space, paths);
}

}  // namespace skyline::app
