#pragma once

#include "train/device/accelerator.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

namespace skyline::train {

/// How many candidates train on a device at once, if their memory allows it: enough to fill it with small
/// ones, few enough for the processors that launch their kernels.
constexpr std::size_t kMostOnDevice = 16;

/// A candidate's request to the gate.
struct Candidate {
  /// kShared: beside others, when there is room. kAlone: when no other trains, and none begins meanwhile.
  /// kGroup: a member of a group. It is not held back, so that two gates never wait for each other: it closes
  /// the gate to the other kinds, and begins when the running candidates have ended.
  enum class Manner { kShared, kAlone, kGroup };
  std::size_t bytes = 0;  // predict_device_bytes
  Manner manner = Manner::kShared;
};

/// Admits the slots of a rank to training on one device, as long as what is predicted of their candidates
/// fits its memory. Admits in the order of asking: small candidates never overtake a large one. At least one
/// is admitted. Only times depend on the gate, never results.
///
/// The device is asked, and its cache freed, never while a group trains: freeing waits for the device, which
/// may wait for another rank's. Thread-safe.
class AdmissionGate {
  struct Running {
    Candidate candidate;
    bool began = false;  // a member of a group that may have work on the device
    bool in_group() const { return candidate.manner == Candidate::Manner::kGroup; }
  };
  /// The right to work on the device while nobody measures.
  using Work = std::shared_lock<std::shared_mutex>;

 public:
  /// A candidate's permission to train; the destructor returns it. Used by one thread.
  class Permit {
   public:
    Permit() = default;
    /// False: the slot was asked to stop while it waited.
    explicit operator bool() const { return running_ != nullptr; }
    /// For a member of a group: waits some milliseconds for the candidates that began before it to end, and
    /// frees cached memory. Returns whether they have ended: the members begin when all may.
    bool may_begin_with_group();
    /// For a candidate whose own work is done, now and then: waits while others measure.
    void let_others_measure();
    /// Calls `measure` while no other candidate works on the device: running ones go on until they let others
    /// measure. A group has the device to itself already. The candidate's own work is done when it calls.
    void measure_alone(const std::function<void()>& measure);

   private:
    friend class AdmissionGate;
    struct Leave {
      AdmissionGate* gate;
      void operator()(Running* one) const {
        gate->leave(one);
        delete one;
      }
    };
    Permit(AdmissionGate& gate, const Candidate& candidate, Work work)
        : running_(new Running{candidate}, Leave{&gate}), work_(std::move(work)) {}

    std::unique_ptr<Running, Leave> running_;
    Work work_;  // not of a group
  };

  /// @pre everything that candidates share is on the device. `accelerator` outlives the gate.
  AdmissionGate(Accelerator& accelerator, int device);

  /// Waits until the candidate may train, or `stop` (polled; quick) says so. A member of a group gets its
  /// permit at once: see may_begin_with_group().
  Permit enter(const Candidate& candidate, const std::function<bool()>& stop);

  std::size_t running() const;
  std::size_t waiting() const;

 private:
  class QueuePlace;

  Permit admit(const Candidate& candidate, Work work);
  Work try_to_begin(const Candidate& candidate);
  bool has_turn(const Candidate& candidate) const;
  bool make_room(const Candidate& candidate);
  bool has_room(std::size_t bytes) const;
  bool may_begin_with_group(Running& one);
  void leave(const Running* one);
  std::size_t singles() const;

  Accelerator& accelerator_;
  const int device_;
  const std::size_t resident_bytes_;  // bytes that candidates share

  std::shared_mutex working_;  // held by all that work; by one that measures, alone
  std::mutex measuring_;       // held by one that measures or waits to; who takes up work passes through it

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<const Candidate*> queue_;
  std::vector<Running*> running_;
  bool may_release_ = true;  // since the cache was freed last a candidate has left
};

}  // namespace skyline::train
