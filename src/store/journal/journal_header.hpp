#pragma once

#include "store/journal/journal.hpp"

#include <string>

#include <nlohmann/json.hpp>

namespace skyline::store {

std::string header_line(const JournalHeader& header);
/// Reads the header of a journal of this version or of version 8.
/// @throws UserError for a fact that is missing, wrong, or unknown to this program
JournalHeader decode_header(const nlohmann::ordered_json& line);
/// @throws UserError if the line is the header of a journal of a version that cannot be read
void refuse_other_version(const nlohmann::ordered_json& line);

}  // namespace skyline::store
