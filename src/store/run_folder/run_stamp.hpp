#pragma once

#include <string>

namespace skyline::store {

/// What made a file: stands in every file that a later job or another program may read.
struct RunStamp {
  std::string skyline_version;
  std::string config_hash;  // of the run, JournalHeader::config_hash
  bool operator==(const RunStamp&) const = default;
};

}  // namespace skyline::store
