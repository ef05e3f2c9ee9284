#include "train/sharing/admission_gate.hpp"

#include "train/inherit/recent_parents.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace skyline::train {
namespace {

constexpr std::chrono::milliseconds kPoll{20};  // interval of looking for stop requests and freed memory

/// Steps after which a candidate has its graph, and so all of its memory.
constexpr std::int64_t kSettledSteps = 64;

constexpr double kReserve =
    0.03;  // share of the device kept free for fluctuations of other processes and the driver

/// Candidates that are measured at first; a measurement stops the device for a moment.
constexpr std::size_t kFirstMeasurements = 8;
constexpr std::uint64_t kMeasureEach = 32;

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

void AdmissionGate::Permit::worked(std::int64_t steps) {
  gate_->worked(ticket_, steps);
}

void AdmissionGate::Permit::ran_out_of_memory() {
  gate_->ran_out_of_memory(ticket_);
}

bool AdmissionGate::Permit::wait_for_quiet(const std::function<bool()>& stop) {
  return gate_->wait_for_quiet(ticket_, stop);
}

void AdmissionGate::Permit::resume() {
  gate_->resume(ticket_);
}

bool AdmissionGate::Running::settled() const {
  return steps >= kSettledSteps;
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

AdmissionGate::AdmissionGate(Accelerator& accelerator, int device, Options options)
    : accelerator_(accelerator),
      device_(device),
      options_(std::move(options)),
      resident_bytes_(accelerator.memory(device).reserved_bytes),
      controller_(options_.most) {}

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
  if (singles() > 1) {
    for (auto& [_, one] : running_) one.had_company = true;
  }
  tell_controller();
  return {*this, ticket};
}

/// Whether the other candidates leave it the turn, independent of memory.
bool AdmissionGate::has_turn(std::uint64_t ticket, const Candidate& candidate) const {
  if (queue_.front() != ticket || a_group_runs()) return false;
  if (running_.empty()) return true;
  if (candidate.manner == Candidate::Manner::kAlone) return false;
  const bool closed = std::ranges::any_of(running_, [](const auto& other) {
    return other.second.candidate.manner == Candidate::Manner::kAlone || other.second.waits_for_quiet;
  });
  return !closed && running_.size() < controller_.limit();
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
  // Candidates that began lately have yet to take their predicted memory.
  std::size_t needed = forecast_.corrected(candidate.bytes);
  for (const auto& [ticket, other] : running_) {
    if (!other.settled()) needed += forecast_.corrected(other.candidate.bytes);
  }
  const std::uint64_t left = left_;
  const bool was_released = released_at_ == left;
  {
    const DeviceCall call(*this, lock);
    if (has_room(needed)) return true;
    if (was_released) return false;
    accelerator_.release_cached_memory(device_);
    if (has_room(needed)) return true;
    if (clear_parents()) {
      accelerator_.release_cached_memory(device_);
      if (has_room(needed)) return true;
    }
  }
  released_at_ = left;
  return false;
}

void AdmissionGate::clear_device() {
  clear_parents();
  accelerator_.release_cached_memory(device_);
}

/// Drops parents' weights from the device; children then read them from the host. Returns false if there are
/// none.
bool AdmissionGate::clear_parents() {
  if (options_.parents == nullptr || options_.parents->bytes() == 0) return false;
  options_.parents->clear();
  return true;
}

bool AdmissionGate::has_room(std::size_t bytes) const {
  const AcceleratorMemory memory = accelerator_.memory(device_);
  const double reserve = kReserve * static_cast<double>(memory.total_bytes);
  return static_cast<double>(bytes) + reserve <= static_cast<double>(memory.free_bytes);
}

bool AdmissionGate::may_begin_with_group(std::uint64_t ticket) {
  Lock lock(mutex_);
  const auto others_ended = [this] { return singles() == 0 && device_calls_ == 0; };
  if (!changed_.wait_for(lock, kPoll, others_ended)) return false;
  const bool is_first = std::ranges::none_of(running_, [](const auto& one) { return one.second.began; });
  Running& one = running_.at(ticket);
  one.began = true;
  if (is_first) {  // no group uses the device
    const std::size_t needed = forecast_.corrected(one.candidate.bytes);
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
  set_waits_for_quiet(one, true);
  while (!is_quiet(ticket)) {
    if (stop()) {
      set_waits_for_quiet(one, false);
      return false;
    }
    changed_.wait_for(lock, kPoll);
  }
  has_quiet_ = ticket;
  return true;
}

/// Whether all other candidates that have begun wait for the same; a waiting group has not begun.
bool AdmissionGate::is_quiet(std::uint64_t ticket) const {
  const bool others_work = std::ranges::any_of(running_, [&](const auto& other) {
    return other.first != ticket && !other.second.in_group() && !other.second.waits_for_quiet;
  });
  return !has_quiet_ && device_calls_ == 0 && !others_work;
}

void AdmissionGate::resume(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  if (has_quiet_ == ticket) has_quiet_.reset();
  set_waits_for_quiet(running_.at(ticket), false);
}

void AdmissionGate::set_waits_for_quiet(Running& one, bool waits) {
  one.waits_for_quiet = waits;
  tell_controller();
  changed_.notify_all();
}

void AdmissionGate::worked(std::uint64_t ticket, std::int64_t steps) {
  Lock lock(mutex_);
  Running& one = running_.at(ticket);
  const std::size_t limit = controller_.limit();
  controller_.worked(options_.now_s(), static_cast<double>(steps) * one.candidate.step_work);
  const bool was_settled = one.settled();
  one.steps += steps;
  const bool settles = one.settled() && !was_settled;
  if (settles) measure_memory(lock);
  if (settles || controller_.limit() > limit) changed_.notify_all();
}

/// Measures the memory of all candidates together (the allocator cannot tell them apart), once each has taken
/// all of its memory.
void AdmissionGate::measure_memory(Lock& lock) {
  std::size_t predicted = 0;
  for (const auto& [ticket, other] : running_) {
    if (!other.settled() || other.in_group()) return;
    predicted += other.candidate.bytes;
  }
  if (forecast_.measurements() >= kFirstMeasurements && next_ticket_ % kMeasureEach != 0) return;
  const std::size_t count = running_.size();
  const std::uint64_t left = left_;
  std::size_t reserved = 0;
  {
    const DeviceCall call(*this, lock);
    accelerator_.release_cached_memory(device_);
    reserved = accelerator_.memory(device_).reserved_bytes;
  }
  if (left_ != left || running_.size() != count) return;  // other candidates than those were measured
  const std::size_t parents = options_.parents == nullptr ? 0 : options_.parents->bytes();
  forecast_.measured(predicted, reserved - std::min(reserved, resident_bytes_ + parents));
}

void AdmissionGate::ran_out_of_memory(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  if (running_.at(ticket).had_company) forecast_.was_too_low();
}

void AdmissionGate::leave(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  running_.erase(ticket);
  if (has_quiet_ == ticket) has_quiet_.reset();
  ++left_;
  tell_controller();
  changed_.notify_all();
}

/// Tells the controller how many candidates train whose number it may change.
void AdmissionGate::tell_controller() {
  const auto waiting =
      std::ranges::count_if(running_, [](const auto& one) { return one.second.waits_for_quiet; });
  controller_.running(options_.now_s(), singles() - static_cast<std::size_t>(waiting));
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

std::size_t AdmissionGate::limit() const {
  const std::lock_guard lock(mutex_);
  return controller_.limit();
}

}  // namespace skyline::train
