#pragma once

#include <string>

namespace skyline::store {

/// The program and run that made a file; part of every file that a later job or another program may read.
struct RunStamp {
  std::string skyline_version;
  std::string config_hash;  // JournalHeader::config_hash of the run
  bool operator==(const RunStamp&) const = default;
};

}  // namespace skyline::store
