#pragma once

#include "skyline/trial/trial.hpp"

#include <string>

namespace skyline::store {

/// The program and run that made a file. Every file that a later job or another program may read has it.
struct RunStamp {
  std::string skyline_version;
  std::string config_hash;  // JournalHeader::config_hash of the run
  bool operator==(const RunStamp&) const = default;
};
/// Returns the text that says from which training of which run a file comes: a JSON object of the stamp and
/// of the trial as in the journal, without genotype and result. Equal trainings have equal texts.
std::string provenance(const trial::Trial& trial, const RunStamp& run);
/// Returns the text for a kept state. It is the same for search trial `number`, which left the state, and for
/// the trials that continue it, whatever their budgets.
std::string kept_provenance(trial::TrialNumber number, const trial::Trial& trial, const RunStamp& run);

}  // namespace skyline::store
