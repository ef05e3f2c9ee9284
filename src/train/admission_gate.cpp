#include "train/admission_gate.hpp"

#include "train/recent_parents.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace skyline::train {
namespace {

constexpr std::chrono::milliseconds kPoll{20};  // of stop requests, and of memory that others give back

/// By then a candidate has its graph, and so all the memory that it will take.
constexpr std::int64_t kSettledSteps = 64;

constexpr double kReserve = 0.03;  // of the device: for others' fluctuations, and the driver's

/// Measuring makes the device stop for a moment.
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

void AdmissionGate::Permit::worked(std::int64_t steps) {
  gate_->worked(ticket_, steps);
}

bool AdmissionGate::Running::settled() const {
  return steps >= kSettledSteps;
}

/// Of a slot that waits with the mutex held or released; the next one's turn comes when it is left.
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
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = next_ticket_++;
  if (candidate.manner == Candidate::Manner::kAtOnce) {
    fits(candidate);  // whether or not: what is cached makes room for it
  } else {
    const QueuePlace place(*this, ticket);
    while (queue_.front() != ticket || !may_begin(candidate)) {
      if (stop()) return {};
      changed_.wait_for(lock, kPoll);
    }
  }
  running_[ticket] = {candidate};
  controller_.running(options_.now_s(), running_.size());
  return {*this, ticket};
}

bool AdmissionGate::may_begin(const Candidate& candidate) {
  if (running_.empty()) {
    if (candidate.manner == Candidate::Manner::kAlone) {
      clear_parents();
      accelerator_.release_cached_memory(device_);
    }
    return true;
  }
  const bool one_is_alone = std::any_of(running_.begin(), running_.end(), [](const auto& other) {
    return other.second.candidate.manner == Candidate::Manner::kAlone;
  });
  if (one_is_alone || candidate.manner == Candidate::Manner::kAlone) return false;
  return running_.size() < controller_.limit() && fits(candidate);
}

/// What is cached for later is freed before a candidate has to wait, what children need last.
bool AdmissionGate::fits(const Candidate& candidate) {
  if (has_room(candidate)) return true;
  if (std::exchange(cache_released_, true)) return false;
  accelerator_.release_cached_memory(device_);
  if (has_room(candidate)) return true;
  if (!clear_parents()) return false;
  accelerator_.release_cached_memory(device_);
  return has_room(candidate);
}

/// Children read their parents' weights from the host then. Returns false if there are none.
bool AdmissionGate::clear_parents() {
  if (options_.parents == nullptr || options_.parents->bytes() == 0) return false;
  options_.parents->clear();
  return true;
}

/// Those that began lately have yet to take what was predicted for them.
bool AdmissionGate::has_room(const Candidate& candidate) const {
  std::size_t needed = forecast_.corrected(candidate.bytes);
  for (const auto& [ticket, other] : running_) {
    if (!other.settled()) needed += forecast_.corrected(other.candidate.bytes);
  }
  const AcceleratorMemory memory = accelerator_.memory(device_);
  const double reserve = kReserve * static_cast<double>(memory.total_bytes);
  return static_cast<double>(needed) + reserve <= static_cast<double>(memory.free_bytes);
}

void AdmissionGate::worked(std::uint64_t ticket, std::int64_t steps) {
  const std::lock_guard lock(mutex_);
  Running& one = running_.at(ticket);
  const std::size_t limit = controller_.limit();
  controller_.worked(options_.now_s(), static_cast<double>(steps) * one.candidate.step_work);
  const bool was_settled = one.settled();
  one.steps += steps;
  const bool settles = one.settled() && !was_settled;
  if (settles) measure_memory();
  if (settles || controller_.limit() > limit) changed_.notify_all();
}

/// Of the candidates in sum, which no allocator tells apart, when all of them have taken what they take.
void AdmissionGate::measure_memory() {
  std::size_t predicted = 0;
  for (const auto& [ticket, other] : running_) {
    if (!other.settled()) return;
    predicted += other.candidate.bytes;
  }
  if (forecast_.measurements() >= kFirstMeasurements && next_ticket_ % kMeasureEach != 0) return;
  accelerator_.release_cached_memory(device_);
  const std::size_t reserved = accelerator_.memory(device_).reserved_bytes;
  const std::size_t parents = options_.parents == nullptr ? 0 : options_.parents->bytes();
  forecast_.measured(predicted, reserved - std::min(reserved, resident_bytes_ + parents));
}

void AdmissionGate::ran_out_of_memory() {
  const std::lock_guard lock(mutex_);
  forecast_.was_too_low();
}

void AdmissionGate::leave(std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  running_.erase(ticket);
  cache_released_ = false;
  controller_.running(options_.now_s(), running_.size());
  changed_.notify_all();
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
