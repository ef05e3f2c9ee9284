#include "store/run_folder/file_claim.hpp"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace skyline::store {
namespace {

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

}  // namespace

std::unique_ptr<RunClaim> keep_claim(std::unique_ptr<FileClaim> claim, double interval_s) {
  return std::make_unique<KeptClaim>(std::move(claim), interval_s);
}

}  // namespace skyline::store
