#include "train/sharing/admission_gate.hpp"

#include <algorithm>
#include <chrono>

namespace skyline::train {
namespace {

constexpr std::chrono::milliseconds kPoll{20};  // interval between looks for stop requests and freed memory

constexpr double kReserve =
    0.03;  // share of the device kept free for fluctuations of other processes and the driver

}  // namespace

bool AdmissionGate::Permit::may_begin_with_group() {
  return running_.get_deleter().gate->may_begin_with_group(*running_);
}

void AdmissionGate::Permit::let_others_measure() {
  if (!work_) return;
  work_.unlock();
  const std::lock_guard turn(running_.get_deleter().gate->measuring_);
  work_.lock();
}

void AdmissionGate::Permit::measure_alone(const std::function<void()>& measure) {
  if (!work_) return measure();
  work_.unlock();
  AdmissionGate& gate = *running_.get_deleter().gate;
  const std::lock_guard turn(gate.measuring_);
  {
    const std::lock_guard alone(gate.working_);
    measure();
  }
  work_.lock();
}

/// The place of a waiting slot in the queue. Leaving gives the turn to the next. Needs the mutex.
class AdmissionGate::QueuePlace {
 public:
  QueuePlace(AdmissionGate& gate, const AdmissionRequest& request) : gate_(gate), request_(&request) {
    gate_.queue_.push_back(request_);
  }
  ~QueuePlace() {
    std::erase(gate_.queue_, request_);
    gate_.changed_.notify_all();
  }
  QueuePlace(const QueuePlace&) = delete;
  QueuePlace& operator=(const QueuePlace&) = delete;

 private:
  AdmissionGate& gate_;
  const AdmissionRequest* request_;
};

AdmissionGate::AdmissionGate(Accelerator& accelerator, int device)
    : accelerator_(accelerator),
      device_(device),
      resident_bytes_(accelerator.memory(device).reserved_bytes) {}

AdmissionGate::Permit AdmissionGate::enter(const AdmissionRequest& request,
                                           const std::function<bool()>& stop) {
  std::unique_lock lock(mutex_);
  if (request.manner == AdmissionRequest::Manner::kGroup) return admit(request, {});
  const QueuePlace place(*this, request);
  while (true) {
    if (Work work = try_to_begin(request)) return admit(request, std::move(work));
    if (stop()) return {};
    changed_.wait_for(lock, kPoll);
  }
}

AdmissionGate::Permit AdmissionGate::admit(const AdmissionRequest& request, Work work) {
  Permit permit(*this, request, std::move(work));
  running_.push_back(permit.running_.get());
  return permit;
}

/// Lets the trial begin, if possible; never while another trial measures.
AdmissionGate::Work AdmissionGate::try_to_begin(const AdmissionRequest& request) {
  Work work(working_, std::try_to_lock);
  if (work && !(has_turn(request) && make_room(request))) work.unlock();
  return work;
}

/// Returns whether the other trials let it begin, memory aside.
bool AdmissionGate::has_turn(const AdmissionRequest& request) const {
  if (queue_.front() != &request || singles() < running_.size()) return false;
  if (running_.empty()) return true;
  const bool one_is_alone = request.manner == AdmissionRequest::Manner::kAlone ||
                            std::ranges::any_of(running_, [](const Running* other) {
                              return other->request.manner == AdmissionRequest::Manner::kAlone;
                            });
  return !one_is_alone && running_.size() < kMostOnDevice;
}

/// Frees cached memory before a trial has to wait.
bool AdmissionGate::make_room(const AdmissionRequest& request) {
  if (running_.empty()) {
    if (request.manner == AdmissionRequest::Manner::kAlone) accelerator_.release_cached_memory(device_);
    return true;
  }
  std::size_t needed = request.bytes;
  for (const Running* other : running_) needed += other->request.bytes;
  if (!has_room(needed)) return false;
  // Cached blocks of ended trials may have other sizes than this one needs.
  const auto is_free = [&] { return accelerator_.memory(device_).free_bytes >= request.bytes; };
  if (!is_free() && std::exchange(may_release_, false)) accelerator_.release_cached_memory(device_);
  return is_free();
}

/// Returns whether trials of so many bytes together fit into the free memory and that of running
/// trials. Other processes count.
bool AdmissionGate::has_room(std::size_t bytes) const {
  const AcceleratorMemory memory = accelerator_.memory(device_);
  const std::size_t taken = memory.reserved_bytes - std::min(memory.reserved_bytes, resident_bytes_);
  const double reserve = kReserve * static_cast<double>(memory.total_bytes);
  return static_cast<double>(bytes) + reserve <= static_cast<double>(memory.free_bytes + taken);
}

bool AdmissionGate::may_begin_with_group(Running& one) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPoll, [this] { return singles() == 0; })) return false;
  const bool is_first = std::ranges::none_of(running_, &Running::began);
  one.began = true;
  if (is_first) accelerator_.release_cached_memory(device_);  // no group uses the device
  return true;
}

void AdmissionGate::leave(const Running* one) {
  const std::lock_guard lock(mutex_);
  std::erase(running_, one);
  may_release_ = true;
  changed_.notify_all();
}

/// Returns the number of trials outside of groups.
std::size_t AdmissionGate::singles() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(running_, [](const Running* one) { return !one->in_group(); }));
}

std::size_t AdmissionGate::running() const {
  const std::lock_guard lock(mutex_);
  return running_.size();
}

std::size_t AdmissionGate::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

}  // namespace skyline::train
