#pragma once

#include "skyline/objective/objective_set.hpp"
#include "skyline/space/search_space.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace skyline::store {

/// Writes run.h5, the journal as a table. Data set "trials" is a compound, one row per trial, that pandas
/// reads as `pandas.DataFrame(h5py.File("run.h5")["trials"][:])`: number, position, phase, arch_id, one
/// column per parameter, status, reason, one column per metric and computed cost, on_front, and the columns
/// that trial::for_each_field and for_each_timing name (inherited_from is -1 if from nobody). Root
/// attributes: format, skyline_version, config (YAML text). Published whole. @throws UserError
/// @param on_front  [committed.size()]
void write_run_tables(const std::filesystem::path& path, const std::vector<trial::CommittedTrial>& committed,
                      const std::vector<bool>& on_front, const std::vector<std::string>& metrics,
                      const space::SearchSpace& space, const std::string& config_text);

}  // namespace skyline::store
