#include "store/journal/provenance.hpp"

#include "store/journal/trial_json.hpp"

#include <nlohmann/json.hpp>

namespace skyline::store {

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
