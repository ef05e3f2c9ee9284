#pragma once

#include "store/journal/journal.hpp"
#include "store/journal/trial_json.hpp"
#include "store/publish/storage_thread.hpp"
#include "store/run_folder/run_folder.hpp"

namespace skyline::engine {

/// The files of a run that one rank writes.
struct RunFiles {
  store::RunPaths paths;
  store::JournalHeader header;    // header of a new journal; files of waiting results repeat it
  store::StorageThread& storage;  // writes this rank's files; must outlive the slots
  store::RunStamp stamp() const { return {header.skyline_version, header.config_hash}; }
};

}  // namespace skyline::engine
