#include "store/run_folder/run_folder.hpp"

#include "store/journal/trial_json.hpp"
#include "store/publish/file_descriptor.hpp"
#include "store/publish/publish.hpp"
#include "store/publish/temporary_file.hpp"
#include "store/run_folder/claim_record.hpp"
#include "store/run_folder/file_claim.hpp"
#include "store/weights/checkpoint.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

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
  std::exception_ptr failure_;  // not written to any more once `lost_` is set
  std::atomic<bool> lost_ = false;
  std::thread thread_;  // last: begins when the rest is there
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

/// Of any process: nobody but the claim's holder writes here.
std::size_t remove_all_temporaries(const std::filesystem::path& folder) {
  std::size_t removed = 0;
  for (const std::filesystem::path& path : list_folder(folder)) {
    TemporaryName name;
    if (!parse_temporary_name(path.filename().string(), name)) continue;
    remove_file(path);
    ++removed;
  }
  return removed;
}

}  // namespace

std::string provenance(const trial::Trial& trial, const RunStamp& run) {
  nlohmann::ordered_json object{{"skyline_version", run.skyline_version}, {"config_hash", run.config_hash}};
  add_name(object, trial);
  add_fields(object, trial);
  return object.dump();
}

std::string kept_provenance(trial::TrialNumber number, const trial::Trial& trial, const RunStamp& run) {
  const nlohmann::ordered_json object{{"skyline_version", run.skyline_version},
                                      {"config_hash", run.config_hash},
                                      {"kept_by", number},
                                      {"arch", space::to_text(trial.architecture().id)},
                                      {"horizon", trial.horizon().epochs},
                                      {"members", trial.members},
                                      {"seed", std::to_string(trial.seed)}};
  return object.dump();
}

std::optional<RunOwner> read_owner(const RunPaths& paths) {
  const std::optional<ClaimRecord> record = read_claim_record(paths.owner());
  if (!record) return std::nullopt;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return RunOwner{record->host, record->process, record->age_s(now), !record->is_stale(now)};
}

std::unique_ptr<RunClaim> RunClaim::take(const RunPaths& paths) {
  return keep_claim(take_file_claim(paths, kHeartbeat_s), kHeartbeat_s);
}

std::unique_ptr<RunClaim> keep_claim(std::unique_ptr<FileClaim> claim, double interval_s) {
  return std::make_unique<KeptClaim>(std::move(claim), interval_s);
}

RecoveredFolder recover_run_folder(const RunPaths& paths, const trial::CommitLog& committed,
                                   const trial::Budget& final_budget) {
  RecoveredFolder recovered;
  // At the top other jobs may be trying to claim the folder.
  recovered.temporaries = remove_temporaries(paths.root);
  for (const std::filesystem::path& folder : paths.folders()) {
    recovered.temporaries += remove_all_temporaries(folder);
  }
  std::set<trial::TrialName> begun;
  for (const std::filesystem::path& path : list_folder(paths.checkpoints())) {
    const std::optional<trial::TrialName> trial = trial_of_checkpoint(path.filename().string());
    if (!trial) continue;
    if (committed.contains(*trial, final_budget)) {
      remove_file(path);
      ++recovered.checkpoints;
    } else {
      begun.insert(*trial);
    }
  }
  recovered.begun_trials = begun.size();
  return recovered;
}

}  // namespace skyline::store
