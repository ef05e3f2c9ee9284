#include "evaluate/command/early_answers.hpp"

#include "skyline/space/genotype.hpp"

#include "core/log.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/run_folder.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace skyline::evaluate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kArchitecture = "arch";
constexpr const char* kValues = "values";

fs::path record_of(const fs::path& run, trial::TrialName trial) {
  return store::RunPaths{run}.trainer() / "asked" / (to_text(trial) + ".json");
}

/// Returns what a program is told of a trial: the record of another one of the same number does not count.
Json definition_of(const trial::Trial& trial) {
  return {{kArchitecture, space::to_text(trial.architecture().id)},
          {"seed", trial.seed},
          {"epochs", trial.budget().epochs}};
}

/// Returns the answers of a trial's record if all of its other members that `definition` has are equal.
EarlyAnswers read_record(const fs::path& run, trial::TrialName trial, const Json& definition) {
  const fs::path file = record_of(run, trial);
  if (!store::exists(file)) return {};
  try {
    const Json record = Json::parse(store::read_file(file));
    const bool is_its = std::ranges::all_of(
        definition.items(), [&](const auto& member) { return record.at(member.key()) == member.value(); });
    return is_its ? record.at(kValues).get<EarlyAnswers>() : EarlyAnswers();
  } catch (const Json::exception&) {
    log::warning(file.string() + ": is damaged; the programs of trial " + to_text(trial) +
                 " are asked again");
    return {};
  }
}

}  // namespace

EarlyAnswers read_early_answers(const fs::path& run, const trial::Trial& trial) {
  return read_record(run, trial.name(), definition_of(trial));
}

EarlyAnswers read_searched_answers(const fs::path& run, const trial::Trial& full_training) {
  return read_record(run, {full_training.number},
                     Json::object({{kArchitecture, space::to_text(full_training.architecture().id)}}));
}

void remove_early_answers(const fs::path& run, trial::TrialName trial) {
  store::remove_file(record_of(run, trial));
}

void write_early_answers(const fs::path& run, const trial::Trial& trial, const EarlyAnswers& answers) {
  const fs::path file = record_of(run, trial.name());
  store::make_own_folder(file.parent_path());
  Json record = definition_of(trial);
  record[kValues] = answers;
  store::publish_file(file, record.dump() + "\n");
}

}  // namespace skyline::evaluate
