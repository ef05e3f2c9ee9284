#pragma once

#include "skyline/trial/trial.hpp"

#include <string>

namespace skyline::store {

/// The program and run that made a file; part of every file that a later job or another program may read.
struct RunStamp {
  std::string skyline_version;
  std::string config_hash;  // JournalHeader::config_hash of the run
  bool operator==(const RunStamp&) const = default;
};
/// Says which training of which run a file comes from: a JSON object of the stamp and of the trial as its
/// line of the journal has it, without genotype and result. Equal trainings have equal texts.
std::string provenance(const trial::Trial& trial, const RunStamp& run);
/// Says which training a kept state is of: the text is the same for search trial `number`, which left it, and
/// for those that continue it, whatever their budgets.
std::string kept_provenance(trial::TrialNumber number, const trial::Trial& trial, const RunStamp& run);

}  // namespace skyline::store
