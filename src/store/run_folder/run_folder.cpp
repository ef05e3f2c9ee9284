#include "store/run_folder/run_folder.hpp"

#include "skyline/core/error.hpp"

#include "core/text/foreign_text.hpp"
#include "core/text/hash.hpp"
#include "core/text/wording.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/temporary_file.hpp"
#include "store/run_folder/file_claim.hpp"
#include "store/run_folder/running_trials.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <initializer_list>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace skyline::store {
namespace {

constexpr double kHeartbeat_s = 10;

class KeptClaim final : public RunClaim {
 public:
  KeptClaim(std::unique_ptr<FileClaim> claim, double interval_s)
      : claim_(std::move(claim)), interval_(interval_s), thread_([this] { keep(); }) {}
  ~KeptClaim() override;
  KeptClaim(const KeptClaim&) = delete;
  KeptClaim& operator=(const KeptClaim&) = delete;

  void check() const override {
    if (lost_) std::rethrow_exception(failure_);
  }

 private:
  void keep();

  std::unique_ptr<FileClaim> claim_;
  const std::chrono::duration<double> interval_;
  std::mutex mutex_;
  std::condition_variable end_came_;
  bool ending_ = false;
  std::exception_ptr failure_;  // no longer written once `lost_` is set
  std::atomic<bool> lost_ = false;
  std::thread thread_;  // the last member, because the thread uses all others
};

KeptClaim::~KeptClaim() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  end_came_.notify_all();
  thread_.join();
}

void KeptClaim::keep() {
  std::unique_lock lock(mutex_);
  while (!end_came_.wait_for(lock, interval_, [this] { return ending_; })) {
    lock.unlock();
    try {
      claim_->renew();
    } catch (...) {
      failure_ = std::current_exception();
      lost_ = true;
      return;
    }
    lock.lock();
  }
}

namespace fs = std::filesystem;

constexpr std::size_t kMostNamed = 3;

bool is_temporary(const fs::path& path) {
  TemporaryName name;
  return parse_temporary_name(path.filename().string(), name);
}

/// Returns whether a file holds no state: a temporary, or the table of slots of a job without a journal.
bool is_without_state(const fs::path& path) {
  return is_temporary(path) || is_running_table(path);
}

bool is_empty_folder(const fs::path& path) {
  std::error_code ignored;  // a folder that cannot be read is not empty
  return fs::symlink_status(path, ignored).type() == fs::file_type::directory &&
         std::ranges::all_of(list_folder(path), is_without_state);
}

std::string mark_of(std::string_view yaml) {
  return "# written by skyline for this run, sum " + checksum(yaml) + "\n";
}

/// Returns whether a job wrote the configuration, and nobody has changed it.
bool is_written_by_a_job(std::string_view text) {
  const std::string_view yaml = text.substr(std::min(text.find('\n'), text.size() - 1) + 1);
  return text == mark_of(yaml) + std::string(yaml);
}

/// Returns whether a text is a JSON object with these members.
bool has_members(const std::string& text, std::initializer_list<const char*> members) {
  const auto json = nlohmann::ordered_json::parse(shallow_json(text), nullptr, false);
  return std::ranges::all_of(members, [&](const char* member) { return json.contains(member); });
}

/// Returns whether a file that is replaced without asking was written by a job, by its contents: a person may
/// have a file of the same name.
bool is_ours(const fs::path& path, const RunPaths& paths) {
  const std::array replaced{paths.config(), paths.owner(), paths.status_json(), paths.mlflow_json()};
  if (std::ranges::find(replaced, path) == replaced.end()) return false;
  std::string text;
  try {
    if (read_once(path, text)) return !store::exists(path);  // another job may have removed it
  } catch (const UserError&) {
    return false;
  }
  if (text.empty()) return true;  // there is nothing to lose
  if (path == paths.config()) return is_written_by_a_job(text);
  if (path == paths.owner()) return has_members(text, {"token", "started_ticks", "place"});
  if (path == paths.status_json()) return has_members(text, {"format", "state", "committed", "in_flight"});
  return has_members(text, {"address", "run_id", "next_step"});
}

/// Returns whether all files of a folder are copies of known results, which have their checksums as names.
bool has_copies_alone(const fs::path& folder) {
  return std::ranges::all_of(list_folder(folder), [](const fs::path& path) {
    std::string text;
    return is_temporary(path) || (!read_once(path, text) && checksum(text) == path.stem());
  });
}

/// Returns whether a file comes from the scheduler, from `skyline doctor`, from a file system, or from a job
/// that ended before its first trial.
bool is_harmless(const fs::path& path, const RunPaths& paths, const fs::path& given) {
  const std::string name = path.filename().string();
  for (const char* start : {"slurm-", ".skyline-doctor.", ".nfs", "lost+found"}) {
    if (name.starts_with(start)) return true;
  }
  std::error_code ignored;  // the user may have named no configuration
  if (fs::equivalent(path, given, ignored)) return false;
  return path == paths.log().parent_path() || path == paths.events() || path == paths.trainer() ||
         is_temporary(path) || is_empty_folder(path) || is_ours(path, paths) ||
         (path == known_folder(paths) && has_copies_alone(path));
}

/// Returns whether only a run with trials has such a file.
bool is_of_a_run(const fs::path& path, const RunPaths& paths, std::span<const fs::path> results) {
  const std::array known{paths.weights_folder(), paths.checkpoints(),  paths.courses(), paths.trace_json(),
                         paths.exports(),        paths.latency_json(), paths.trials(),  known_folder(paths)};
  return std::ranges::find(known, path) != known.end() || std::ranges::find(results, path) != results.end();
}

}  // namespace

std::optional<RunOwner> read_owner(const RunPaths& paths) {
  const std::optional<ClaimRecord> record = read_claim_record(paths.owner());
  if (!record) return std::nullopt;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  bool active = !record->is_stale(now);
  if (active) {  // a copy has an older heartbeat; one folder that is mounted in two ways has one
    const std::optional<ClaimRecord> original = find_original_claim(*record, paths.root);
    active = !original || original->age_s(now) >= record->age_s(now);
  }
  return RunOwner{record->host, record->process, record->age_s(now), active};
}

std::unique_ptr<RunClaim> RunClaim::acquire(const RunPaths& paths) {
  return keep_claim(acquire_file_claim(paths, kHeartbeat_s), kHeartbeat_s);
}

std::unique_ptr<RunClaim> keep_claim(std::unique_ptr<FileClaim> claim, double interval_s) {
  return std::make_unique<KeptClaim>(std::move(claim), interval_s);
}

void publish_config(const RunPaths& paths, std::string_view yaml) {
  publish_file(paths.config(), mark_of(yaml) + std::string(yaml));
}

void check_fresh_folder(const RunPaths& paths, const fs::path& config, std::span<const fs::path> results) {
  std::error_code failure;
  if (!fs::is_directory(paths.root, failure)) return;  // making or claiming it says why not
  std::vector<std::string> of_run;
  std::vector<std::string> foreign;
  for (const fs::path& path : list_folder(paths.root)) {
    if (is_harmless(path, paths, config)) continue;
    (is_of_a_run(path, paths, results) ? of_run : foreign).push_back(path.filename().string());
  }
  std::vector<std::string>& names = foreign.empty() ? of_run : foreign;
  if (names.empty()) return;
  std::ranges::sort(names);
  const std::size_t more = names.size() - std::min(names.size(), kMostNamed);
  names.resize(names.size() - more);
  const std::string listed = joined(names) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
  throw UserError(paths.root.string() +
                  (foreign.empty() ? ": holds " + listed +
                                         " of a run, whose journal.jsonl is gone: restore it, "
                                         "or name another folder"
                                   : ": holds files that are no run's (" + listed + "): name a new folder"));
}

}  // namespace skyline::store
