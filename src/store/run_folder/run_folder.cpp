#include "store/run_folder/run_folder.hpp"

#include "store/run_folder/claim_record.hpp"
#include "store/run_folder/file_claim.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

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

}  // namespace skyline::store
