#pragma once

#include "skyline/train/accelerator.hpp"

#include "train/concurrency_controller.hpp"
#include "train/memory_forecast.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

namespace skyline::train {

class RecentParents;

/// What a candidate asks the gate for.
struct Candidate {
  /// kShared: beside others, when there is room. kAlone: when no other trains, and none begins meanwhile.
  /// kAtOnce: a member of a group, for which others wait inside the trial: it is never held back, lest two
  /// gates wait for each other.
  enum class Manner { kShared, kAlone, kAtOnce };
  std::size_t bytes = 0;  // predict_device_bytes
  double step_work = 1;   // predict_step_work
  Manner manner = Manner::kShared;
};

/// Lets the slots of a rank train on one device as long as their candidates fit its memory together and one
/// more raises the sum of their work a second. In the order of asking: a large candidate is not overtaken by
/// small ones that would fit sooner. At least one is let in. Only times depend on it, never results.
/// Thread-safe.
class AdmissionGate {
 public:
  /// A candidate's leave to train; given back by the destructor. Used by one thread.
  class Permit {
   public:
    Permit() = default;
    Permit(Permit&& other) noexcept;
    Permit& operator=(Permit&& other) noexcept;
    ~Permit();
    /// False: the slot was asked to stop while it waited.
    explicit operator bool() const { return gate_ != nullptr; }
    /// The candidate did `steps` more steps.
    void worked(std::int64_t steps);

   private:
    friend class AdmissionGate;
    Permit(AdmissionGate& gate, std::uint64_t ticket) : gate_(&gate), ticket_(ticket) {}
    AdmissionGate* gate_ = nullptr;
    std::uint64_t ticket_ = 0;
  };

  struct Options {
    std::size_t most = 16;          // candidates at once
    std::function<double()> now_s;  // a clock that never falls
    RecentParents* parents =
        nullptr;  // on the device; cleared before a candidate has to do without the memory
  };

  /// Make it when all that candidates share is on the device. `accelerator` and what options
  /// point to outlive it.
  AdmissionGate(Accelerator& accelerator, int device, Options options);

  /// Waits until the candidate may train, or `stop` (polled; quick) says so.
  Permit enter(const Candidate& candidate, const std::function<bool()>& stop);
  /// A candidate that was let in as one that fits ran out of memory.
  void ran_out_of_memory();

  std::size_t running() const;
  std::size_t waiting() const;
  std::size_t limit() const;  // by throughput alone

 private:
  class QueuePlace;
  struct Running {
    Candidate candidate;
    std::int64_t steps = 0;
    bool settled() const;
  };

  bool may_begin(const Candidate& candidate);
  bool fits(const Candidate& candidate);
  bool clear_parents();
  bool has_room(const Candidate& candidate) const;
  void worked(std::uint64_t ticket, std::int64_t steps);
  void measure_memory();
  void leave(std::uint64_t ticket);

  Accelerator& accelerator_;
  const int device_;
  const Options options_;
  const std::size_t resident_bytes_;  // of what candidates share

  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  ConcurrencyController controller_;
  MemoryForecast forecast_;
  std::uint64_t next_ticket_ = 0;
  std::deque<std::uint64_t> queue_;
  std::map<std::uint64_t, Running> running_;
  bool cache_released_ = false;  // since a candidate left
};

}  // namespace skyline::train
