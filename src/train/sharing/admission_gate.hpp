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

/// Most trials that train on a device at once, if memory allows it: enough small ones to fill it, and few
/// enough for the processors that launch their kernels.
constexpr std::size_t kMostOnDevice = 16;

struct AdmissionRequest {
  /// kShared: beside others, when there is room. kAlone: when no other trains; none begins meanwhile. kGroup:
  /// a member of a group, which is not held back, so that two gates never wait for each other: it closes the
  /// gate to the other kinds, and begins when the running trials have ended.
  enum class Manner { kShared, kAlone, kGroup };
  std::size_t bytes = 0;  // result of predict_device_bytes
  Manner manner = Manner::kShared;
};

/// Admits the slots of a rank to training on one device, as long as the predicted memory of their trials
/// fits. Admits in the order of asking: small trials never overtake a large one. At least one is
/// admitted. Only times depend on the gate, never results.
///
/// While a group trains, the device is never asked and its cache never freed: freeing waits for the device,
/// which may wait for another rank's device. Thread-safe.
class AdmissionGate {
  struct Running {
    AdmissionRequest request;
    bool began = false;  // a member of a group that may have work on the device
    bool in_group() const { return request.manner == AdmissionRequest::Manner::kGroup; }
  };
  /// The right to work on the device while nobody measures.
  using Work = std::shared_lock<std::shared_mutex>;

 public:
  /// A trial's permission to train; the destructor returns it. One thread uses it.
  class Permit {
   public:
    Permit() = default;
    /// Returns false if the slot was asked to stop while it waited.
    explicit operator bool() const { return running_ != nullptr; }
    /// For a member of a group: waits some milliseconds for the earlier trials to end, and frees cached
    /// memory. Returns whether they have ended. The members begin when all of them may.
    bool may_begin_with_group();
    /// Waits while others measure. A trial whose own work is done calls it now and then.
    void let_others_measure();
    /// Calls `measure` while no other trial works on the device: running ones continue until they let
    /// others measure. A group already has the device to itself. The trial's own work must be done.
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
    Permit(AdmissionGate& gate, const AdmissionRequest& request, Work work)
        : running_(new Running{request}, Leave{&gate}), work_(std::move(work)) {}

    std::unique_ptr<Running, Leave> running_;
    Work work_;  // not used in a group
  };

  /// @pre everything that trials share is on the device. `accelerator` must outlive the gate.
  AdmissionGate(Accelerator& accelerator, int device);

  /// Waits until the trial may train, or `stop` (polled; must be quick) returns true. A member of a group
  /// gets its permit at once: see may_begin_with_group().
  Permit enter(const AdmissionRequest& request, const std::function<bool()>& stop);

  std::size_t running() const;
  std::size_t waiting() const;
  /// Returns whether the device has failed for good.
  bool is_broken() { return accelerator_.fault(device_).has_value(); }

 private:
  class QueuePlace;

  Permit admit(const AdmissionRequest& request, Work work);
  Work try_to_begin(const AdmissionRequest& request);
  bool has_turn(const AdmissionRequest& request) const;
  bool make_room(const AdmissionRequest& request);
  bool has_room(std::size_t bytes) const;
  bool may_begin_with_group(Running& one);
  void leave(const Running* one);
  std::size_t singles() const;

  Accelerator& accelerator_;
  const int device_;
  const std::size_t resident_bytes_;  // bytes that all trials share

  std::shared_mutex working_;  // shared by all trials that work; a trial that measures holds it alone
  std::mutex measuring_;       // held while one measures or waits to; others pass through it first

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<const AdmissionRequest*> queue_;
  std::vector<Running*> running_;
  bool may_release_ = true;  // a trial has left since the cache was freed last
};

}  // namespace skyline::train
