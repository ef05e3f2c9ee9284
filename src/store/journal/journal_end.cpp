#include "store/journal/journal_end.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"
#include "core/text/foreign_text.hpp"
#include "core/text/wording.hpp"
#include "store/publish/block_reader.hpp"
#include "store/publish/publish.hpp"

#include <algorithm>
#include <optional>
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

StoredTables read_tables(const std::filesystem::path& path) {
  try {
    return read_run_tables(path);
  } catch (const UserError& problem) {
    log::warning(std::string(problem.what()) + "; the account of the run's earlier jobs is lost");
    return {};
  }
}

}  // namespace

JournalEnd::JournalEnd(const RunPaths& paths) : paths_(paths) {
  try {
    if (store::exists(paths.status_json())) committed_ = committed_at_end(read_run_file(paths.status_json()));
  } catch (const UserError&) {  // the file cannot be read; commands that show the status say so
  }
  if (store::exists(paths.tables())) {
    tables_ = read_tables(paths.tables());
  } else if (committed_ > 0) {
    log::warning(paths.tables().string() + ": missing; the account of the run's earlier jobs is lost");
  }
}

std::string JournalEnd::loss(std::span<const double> started_s, bool torn_tail) const {
  const std::size_t listed = has_foreign_tables(started_s) ? 0 : tables_.started_s.size();
  const std::size_t expected = std::max(committed_, listed);
  if (started_s.size() >= expected) return {};
  return paths_.journal().string() + ": " +
         (torn_tail ? "its last line is damaged" : "lines are missing at its end") + ": expected " +
         counted(expected, "trial") + ", as " + (committed_ < listed ? "run.h5" : "status.json") +
         " says, got " + std::to_string(started_s.size());
}

void JournalEnd::check(std::span<const double> started_s, bool torn_tail) const {
  const std::string lost = loss(started_s, torn_tail);
  if (started_s.size() < committed_) {
    throw UserError(lost + " (restore the file, or train again what is lost, with skyline search --run " +
                    paths_.root.string() + " --resume)");
  }
  if (has_foreign_tables(started_s)) {
    log::warning(
        paths_.tables().string() +
        ": is of another run, since none of its trials is in journal.jsonl: it is left out, and with "
        "it the account of time");
  }
  if (lost.empty() && !torn_tail) return;
  const std::optional<RunOwner> owner = read_owner(paths_);
  if (owner && owner->active) return;  // the line is being written
  if (lost.empty()) {
    log::warning(paths_.journal().string() +
                 ": left out a damaged last line; search --resume trains its trial again");
  } else {
    log::warning(lost + "; search --resume trains again what is lost");
  }
}

bool JournalEnd::has_foreign_tables(std::span<const double> started_s) const {
  const std::size_t shared = std::min(started_s.size(), tables_.started_s.size());
  for (std::size_t i = 0; i < shared; ++i) {
    if (started_s[i] == tables_.started_s[i]) return false;
  }
  return shared > 0;
}

std::vector<SlotAccount> JournalEnd::account(std::span<const double> started_s) const {
  return has_foreign_tables(started_s) ? std::vector<SlotAccount>() : tables_.slots;
}

}  // namespace skyline::store
