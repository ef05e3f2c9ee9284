#include "train/sharing/admission_gate.hpp"

#include "train/inherit/recent_parents.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace skyline::train {
namespace {

constexpr std::chrono::milliseconds kPoll{20};  // interval of looking for stop requests and freed memory

constexpr double kReserve =
    0.03;  // share of the device kept free for fluctuations of other processes and the driver

}  // namespace

AdmissionGate::Permit::Permit(Permit&& other) noexcept
    : gate_(std::exchange(other.gate_, nullptr)), ticket_(other.ticket_) {}

AdmissionGate::Permit& AdmissionGate::Permit::operator=(Permit&& other) noexcept {
  std::swap(gate_, other.gate_);
  std::swap(ticket_, other.ticket_);
  return *this;
}

AdmissionGate::Permit::~Permit() {
  if (gate_ != nullptr) gate_->leave(ticket_);
}

bool AdmissionGate::Permit::may_begin_with_group() {
  return gate_->may_begin_with_group(ticket_);
}

void AdmissionGate::Permit::let_others_measure() {
  gate_->let_others_measure(ticket_);
}

bool AdmissionGate::Permit::wait_for_quiet(const std::function<bool()>& stop) {
  return gate_->wait_for_quiet(ticket_, stop);
}

void AdmissionGate::Permit::resume() {
  gate_->resume(ticket_);
}

/// A scope that queries the device with the mutex released. No group begins meanwhile.
class AdmissionGate::DeviceCall {
 public:
  DeviceCall(AdmissionGate& gate, Lock& lock) : gate_(gate), lock_(lock) {
    ++gate_.device_calls_;
    lock_.unlock();
  }
  ~DeviceCall() {
    lock_.lock();
    --gate_.device_calls_;
    gate_.changed_.notify_all();
  }
  DeviceCall(const DeviceCall&) = delete;
  DeviceCall& operator=(const DeviceCall&) = delete;

 private:
  AdmissionGate& gate_;
  Lock& lock_;
};

/// The place of a waiting slot in the queue; leaving it gives the turn to the next. The mutex is held.
class AdmissionGate::QueuePlace {
 public:
  QueuePlace(AdmissionGate& gate, std::uint64_t ticket) : gate_(gate), ticket_(ticket) {
    gate_.queue_.push_back(ticket_);
  }
  ~QueuePlace() {
    std::erase(gate_.queue_, ticket_);
    gate_.changed_.notify_all();
  }
  QueuePlace(const QueuePlace&) = delete;
  QueuePlace& operator=(const QueuePlace&) = delete;

 private:
  AdmissionGate& gate_;
  std::uint64_t ticket_;
};

AdmissionGate::AdmissionGate(Accelerator& accelerator, int device, RecentParents* parents)
    : accelerator_(accelerator),
      device_(device),
      parents_(parents),
      resident_bytes_(accelerator.memory(device).reserved_bytes) {}

AdmissionGate::Permit AdmissionGate::enter(const Candidate& candidate, const std::function<bool()>& stop) {
  Lock lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  if (candidate.manner == Candidate::Manner::kGroup) return admit(ticket, candidate);
  const QueuePlace place(*this, ticket);
  // Checks again: a group may have come while the device made room.
  while (!has_turn(ticket, candidate) || !make_room(candidate, lock) || !has_turn(ticket, candidate)) {
    if (stop()) return {};
    changed_.wait_for(lock, kPoll);
  }
  return admit(ticket, candidate);
}

AdmissionGate::Permit AdmissionGate::admit(std::uint64_t ticket, const Candidate& candidate) {
  running_[ticket] = {candidate};
  return {*this, ticket};
}

/// Whether the other candidates leave it the turn, independent of memory.
bool AdmissionGate::has_turn(std::uint64_t ticket, const Candidate& candidate) const {
  if (queue_.front() != ticket || a_group_runs()) return false;
  if (running_.empty()) return true;
  if (candidate.manner == Candidate::Manner::kAlone) return false;
  const bool beside_one_alone = std::ranges::any_of(
      running_, [](const auto& other) { return other.second.candidate.manner == Candidate::Manner::kAlone; });
  return !beside_one_alone && !somebody_wants_quiet() && running_.size() < kMostOnDevice;
}

/// Frees cached memory before a candidate has to wait; the weights that children need go last.
bool AdmissionGate::make_room(const Candidate& candidate, Lock& lock) {
  if (running_.empty()) {
    if (candidate.manner == Candidate::Manner::kAlone) {
      const DeviceCall call(*this, lock);
      clear_device();
    }
    return true;
  }
  std::size_t needed = candidate.bytes;
  for (const auto& [ticket, other] : running_) needed += other.candidate.bytes;
  const bool may_release = std::exchange(released_at_, left_) != left_;  // else nothing new is in the cache
  const DeviceCall call(*this, lock);
  const auto is_free = [&] { return accelerator_.memory(device_).free_bytes >= candidate.bytes; };
  if (!has_room(needed)) {
    if (!clear_parents()) return false;
    accelerator_.release_cached_memory(device_);
    if (!has_room(needed)) return false;
  }
  // What ended candidates left in the allocator's cache may not be of the sizes that this one asks for.
  if (!is_free() && may_release) accelerator_.release_cached_memory(device_);
  return is_free();
}

void AdmissionGate::clear_device() {
  clear_parents();
  accelerator_.release_cached_memory(device_);
}

/// Drops parents' weights from the device; children then read them from the host. Returns false if there are
/// none.
bool AdmissionGate::clear_parents() {
  if (parents_ == nullptr || parents_->bytes() == 0) return false;
  parents_->clear();
  return true;
}

/// Whether candidates of so many bytes together fit into what is free and what candidates have taken. Other
/// processes count, and so do the weights that parents left.
bool AdmissionGate::has_room(std::size_t bytes) const {
  const AcceleratorMemory memory = accelerator_.memory(device_);
  const std::size_t shared = resident_bytes_ + (parents_ == nullptr ? 0 : parents_->bytes());
  const std::size_t taken = memory.reserved_bytes - std::min(memory.reserved_bytes, shared);
  const double reserve = kReserve * static_cast<double>(memory.total_bytes);
  return static_cast<double>(bytes) + reserve <= static_cast<double>(memory.free_bytes + taken);
}

bool AdmissionGate::may_begin_with_group(std::uint64_t ticket) {
  Lock lock(mutex_);
  const auto others_ended = [this] { return singles() == 0 && device_calls_ == 0; };
  if (!changed_.wait_for(lock, kPoll, others_ended)) return false;
  const bool is_first = std::ranges::none_of(running_, [](const auto& one) { return one.second.began; });
  Running& one = running_.at(ticket);
  one.began = true;
  if (is_first) {  // no group uses the device
    const std::size_t needed = one.candidate.bytes;
    const DeviceCall call(*this, lock);
    accelerator_.release_cached_memory(device_);
    if (!has_room(needed)) clear_device();
  }
  return true;
}

bool AdmissionGate::wait_for_quiet(std::uint64_t ticket, const std::function<bool()>& stop) {
  Lock lock(mutex_);
  Running& one = running_.at(ticket);
  if (one.in_group()) return true;  // the rest of its group waits for it
  one.waits_for_quiet = true;
  while (!is_quiet(ticket)) {
    if (stop()) {
      one.waits_for_quiet = false;
      changed_.notify_all();
      return false;
    }
    changed_.wait_for(lock, kPoll);
  }
  has_quiet_ = ticket;
  return true;
}

/// Whether all other candidates that have begun pause or wait for the same; a waiting group has not begun.
bool AdmissionGate::is_quiet(std::uint64_t ticket) const {
  const bool others_work = std::ranges::any_of(running_, [&](const auto& other) {
    const Running& one = other.second;
    return other.first != ticket && !one.in_group() && !one.waits_for_quiet && !one.pauses;
  });
  return !has_quiet_ && device_calls_ == 0 && !others_work;
}

void AdmissionGate::resume(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  if (has_quiet_ == ticket) has_quiet_.reset();
  running_.at(ticket).waits_for_quiet = false;
  changed_.notify_all();
}

bool AdmissionGate::somebody_wants_quiet() const {
  return std::ranges::any_of(running_, [](const auto& one) { return one.second.waits_for_quiet; });
}

void AdmissionGate::let_others_measure(std::uint64_t ticket) {
  Lock lock(mutex_);
  Running& one = running_.at(ticket);
  if (one.in_group() || !somebody_wants_quiet()) return;
  one.pauses = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !somebody_wants_quiet(); });
  one.pauses = false;
}

void AdmissionGate::leave(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  running_.erase(ticket);
  if (has_quiet_ == ticket) has_quiet_.reset();
  ++left_;
  changed_.notify_all();
}

bool AdmissionGate::a_group_runs() const {
  return singles() < running_.size();
}

/// Number of candidates outside of groups.
std::size_t AdmissionGate::singles() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(running_, [](const auto& one) { return !one.second.in_group(); }));
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
