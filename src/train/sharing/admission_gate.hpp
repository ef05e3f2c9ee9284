#pragma once

#include "train/device/accelerator.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

namespace skyline::train {

class RecentParents;

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
/// The device is asked, and its cache freed, with the mutex released and never while a group trains: freeing
/// waits for the device, which may wait for another rank's, where a thread may wait for its gate.
/// Thread-safe.
class AdmissionGate {
 public:
  /// A candidate's permission to train; the destructor returns it. Used by one thread.
  class Permit {
   public:
    Permit() = default;
    Permit(Permit&& other) noexcept;
    Permit& operator=(Permit&& other) noexcept;
    ~Permit();
    /// False: the slot was asked to stop while it waited.
    explicit operator bool() const { return gate_ != nullptr; }
    /// For a member of a group: waits some milliseconds for the candidates that began before it to end, and
    /// frees cached memory. Returns whether they have ended: the members begin when all may.
    bool may_begin_with_group();
    /// For a candidate whose own work is done, now and then: waits while another one measures.
    void let_others_measure();
    /// Waits until no other candidate works on the device, and keeps it so until resume() or the end: no
    /// other begins, and running ones go on until they let others measure. A group has the device to itself
    /// already. Returns false if `stop` (polled; quick) said so. The candidate's own work is done when it
    /// calls.
    bool wait_for_quiet(const std::function<bool()>& stop);
    void resume();

   private:
    friend class AdmissionGate;
    Permit(AdmissionGate& gate, std::uint64_t ticket) : gate_(&gate), ticket_(ticket) {}
    AdmissionGate* gate_ = nullptr;
    std::uint64_t ticket_ = 0;
  };

  /// @param parents  kept on the device, and let go before a candidate has to wait for memory; may be nullptr
  /// @pre everything that candidates share is on the device. `accelerator` and `parents` outlive the gate.
  AdmissionGate(Accelerator& accelerator, int device, RecentParents* parents = nullptr);

  /// Waits until the candidate may train, or `stop` (polled; quick) says so. A member of a group gets its
  /// permit at once: see may_begin_with_group().
  Permit enter(const Candidate& candidate, const std::function<bool()>& stop);

  std::size_t running() const;
  std::size_t waiting() const;

 private:
  class QueuePlace;
  class DeviceCall;
  using Lock = std::unique_lock<std::mutex>;
  struct Running {
    Candidate candidate;
    bool began = false;            // a member of a group that may have work on the device
    bool waits_for_quiet = false;  // waits for the device, or has it
    bool pauses = false;           // while another one measures
    bool in_group() const { return candidate.manner == Candidate::Manner::kGroup; }
  };

  bool has_turn(std::uint64_t ticket, const Candidate& candidate) const;
  bool make_room(const Candidate& candidate, Lock& lock);
  Permit admit(std::uint64_t ticket, const Candidate& candidate);
  void clear_device();
  bool clear_parents();
  bool has_room(std::size_t bytes) const;
  void let_others_measure(std::uint64_t ticket);
  bool may_begin_with_group(std::uint64_t ticket);
  bool wait_for_quiet(std::uint64_t ticket, const std::function<bool()>& stop);
  bool is_quiet(std::uint64_t ticket) const;
  void resume(std::uint64_t ticket);
  bool somebody_wants_quiet() const;
  void leave(std::uint64_t ticket);
  bool a_group_runs() const;
  std::size_t singles() const;

  Accelerator& accelerator_;
  const int device_;
  RecentParents* const parents_;
  const std::size_t resident_bytes_;  // bytes that candidates share

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::uint64_t next_ticket_ = 0;
  std::deque<std::uint64_t> queue_;
  std::map<std::uint64_t, Running> running_;
  std::size_t device_calls_ = 0;              // running with the mutex released
  std::uint64_t left_ = 0;                    // candidates
  std::optional<std::uint64_t> released_at_;  // left_ when the cache was freed last
  std::optional<std::uint64_t> has_quiet_;    // ticket of the candidate that has the device to itself
};

}  // namespace skyline::train
