#include "store/journal/journal_end.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "store/publish/publish.hpp"

#include <string>

#include <nlohmann/json.hpp>

namespace skyline::store {
namespace {

/// Returns how many trials were committed, and are durable, when the last job ended; 0 if it did not say.
std::size_t committed_at_end(const std::string& status) {
  try {
    const auto json = nlohmann::ordered_json::parse(shallow_json(status));
    const bool ended = json.at("state") == "finished" || json.at("state") == "stopped";
    const nlohmann::ordered_json& committed = json.at("committed");
    return ended && committed.is_number_unsigned() ? committed.get<std::size_t>() : 0;
  } catch (const nlohmann::ordered_json::exception&) {
    return 0;
  }
}

}  // namespace

JournalEnd::JournalEnd(const RunPaths& paths) : paths_(paths) {
  try {
    if (store::exists(paths.status_json())) committed_ = committed_at_end(read_file(paths.status_json()));
  } catch (const UserError&) {  // the file cannot be read; commands that show the status say so
  }
}

std::string JournalEnd::loss(std::size_t trials, bool torn_tail) const {
  if (trials >= committed_) return {};
  return paths_.journal().string() + ": " +
         (torn_tail ? "its last line is damaged" : "lines are missing at its end") + ": expected " +
         counted(committed_, "trial") + ", as status.json says, got " + std::to_string(trials);
}

void JournalEnd::check(std::size_t trials, bool torn_tail) const {
  if (const std::string lost = loss(trials, torn_tail); !lost.empty()) {
    throw UserError(lost + " (restore the file, or train again what is lost, with skyline search --run " +
                    paths_.root.string() + " --resume)");
  }
  if (!torn_tail) return;
  const std::optional<RunOwner> owner = read_owner(paths_);
  if (owner && owner->active) return;  // the line is being written
  log::warning(paths_.journal().string() +
               ": left out a damaged last line; search --resume trains its trial again");
}

}  // namespace skyline::store
