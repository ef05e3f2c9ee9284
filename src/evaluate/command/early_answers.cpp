#include "evaluate/command/early_answers.hpp"

#include "skyline/space/genotype.hpp"

#include "core/log.hpp"
#include "store/publish/publish.hpp"
#include "store/run_folder/run_folder.hpp"

#include <nlohmann/json.hpp>

namespace skyline::evaluate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kValues = "values";

fs::path record_of(const fs::path& run, const trial::Trial& trial) {
  return store::RunPaths{run}.trainer() / "asked" / (to_text(trial.name()) + ".json");
}

/// Returns what a program is told of a trial: the record of another one of the same number does not count.
Json definition_of(const trial::Trial& trial) {
  return {{"arch", space::to_text(trial.architecture().id)},
          {"seed", trial.seed},
          {"epochs", trial.budget().epochs}};
}

}  // namespace

EarlyAnswers read_early_answers(const fs::path& run, const trial::Trial& trial) {
  const fs::path file = record_of(run, trial);
  if (!store::exists(file)) return {};
  try {
    Json record = Json::parse(store::read_file(file));
    auto answers = record.at(kValues).get<EarlyAnswers>();
    record.erase(kValues);
    return record == definition_of(trial) ? answers : EarlyAnswers();
  } catch (const Json::exception&) {
    log::warning(file.string() + ": is damaged; the programs of trial " + to_text(trial.name()) +
                 " are asked again");
    return {};
  }
}

void write_early_answers(const fs::path& run, const trial::Trial& trial, const EarlyAnswers& answers) {
  const fs::path file = record_of(run, trial);
  store::make_own_folder(file.parent_path());
  Json record = definition_of(trial);
  record[kValues] = answers;
  store::publish_file(file, record.dump() + "\n");
}

}  // namespace skyline::evaluate
