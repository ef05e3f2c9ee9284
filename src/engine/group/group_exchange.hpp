#pragma once

#include "skyline/trial/trial_group.hpp"

#include "comm/mailbox.hpp"
#include "engine/group/group_pieces.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace skyline::engine {

/// Measures, by repeated updates, how long nothing has happened. An update adds at most a second, so that
/// time in which this process or its machine was suspended does not count.
class SilenceTimer {
 public:
  using Clock = std::chrono::steady_clock;

  explicit SilenceTimer(Clock::time_point now) : last_update_(now) {}

  /// Notes that something has happened.
  void hear(Clock::time_point now) {
    last_update_ = now;
    silence_ = {};
  }
  /// Returns the length of the silence.
  Clock::duration update(Clock::time_point now) {
    silence_ += std::min<Clock::duration>(now - last_update_, kMostOfAnUpdate);
    last_update_ = now;
    return silence_;
  }

 private:
  static constexpr std::chrono::seconds kMostOfAnUpdate{1};
  Clock::time_point last_update_;
  Clock::duration silence_{};
};

class GroupHub;

/// The operations of one group, shared by its members on one rank. An operation is cut into pieces, and each
/// piece is handled by small tasks: send the values of this rank's members, add arrived values, copy a result
/// to the members. Any member that tests or waits does the next task, so no thread of its own is needed. Only
/// tasks read and write values, and messages are copies: when the trial is given up, a member's values are
/// its own again as soon as its operation has thrown or been destroyed.
class GroupExchange {
 public:
  using Clock = SilenceTimer::Clock;

  /// @param rank_index  index of this rank among the group's ranks
  GroupExchange(const GroupPlace& place, std::size_t rank_index, GroupHub& hub,
                std::chrono::milliseconds silence);
  GroupExchange(const GroupExchange&) = delete;
  GroupExchange& operator=(const GroupExchange&) = delete;

  const GroupPlace& place() const { return place_; }

  /// Posts a member's next operation. Returns its number.
  /// @param local  index of the member on this rank
  std::uint64_t post(std::size_t local, GroupCall call, std::span<std::byte> values);
  bool test(std::uint64_t number);
  void wait(std::uint64_t number);
  /// Ends the use of the values of a member's operation. If it is not complete, the trial is given up.
  /// @param by_an_error  true while an exception unwinds the stack; its handler then aborts the group and
  ///                     gives the reason
  void leave(std::size_t local, std::uint64_t number, bool by_an_error) noexcept;
  void check();
  /// @param fault  true for a fault of the run, see GroupHub::fault
  void abort(const trial::Failure& failure, bool fault = false) noexcept;
  /// Ends the trial on this rank only; the others are informed by the rank that knows the reason.
  void give_up(const trial::Failure& failure) noexcept;
  /// Returns whether the other ranks have everything that they need from this one, or need nothing any more.
  bool has_sent_all() const;

  /// Tells the other ranks that this one runs although its members are busy, and takes what they have sent.
  /// The rank's main thread calls it.
  void send_heartbeat() noexcept;

  void deliver(const comm::Message& message);

 private:
  struct PieceState {
    std::vector<std::shared_ptr<const comm::Buffer>>
        terms;  // [ranks] arrived terms; for kEveryone also that of this rank
    std::size_t arrived = 0;
    std::shared_ptr<const comm::Buffer> result;
    bool scheduled = false;  // whether its last task is scheduled
  };
  struct Operation {
    GroupCall call = GroupCall::kAllReduce;
    std::size_t bytes = 0;
    std::vector<GroupPiece> pieces;
    std::vector<PieceState> states;
    std::vector<std::span<std::byte>> values;  // [members of this rank]
    std::vector<bool> has;                     // whether each member has posted
    std::size_t posted = 0;
    std::size_t pieces_done = 0;
    std::size_t at_work = 0;  // number of tasks that use the values
  };
  struct Task {
    std::uint64_t number = 0;
    Operation* operation = nullptr;
    std::size_t piece = 0;
    bool contribute = false;  // false for the piece's last task
  };

  // Functions that need the lock.
  Operation& operation_of(std::uint64_t number, GroupCall call, std::size_t bytes);
  bool is_complete(std::uint64_t number) const { return !operations_.contains(number); }
  bool all_joined() const { return std::ranges::find(joined_, false) == joined_.end(); }
  bool has_task() const;
  bool one_has_left() const { return std::ranges::find(left_, true) != left_.end(); }
  bool owns(const GroupPiece& piece) const;
  bool must_contribute(GroupCall call, const GroupPiece& piece) const;
  bool is_ready(const Operation& operation, std::size_t piece) const;
  void start(std::uint64_t number, Operation& operation);
  void schedule_if_ready(std::uint64_t number, Operation& operation, std::size_t piece);
  void erase_if_done(std::uint64_t number, const Operation& operation);
  void receive(const comm::Message& message, const GroupHeader& header);
  bool waits_for(const Operation& operation, std::size_t index) const;
  std::string members_of_rank(std::size_t index) const;
  void throw_if_aborted(std::unique_lock<std::mutex>& lock);

  // Functions that are called without the lock.
  /// Looks for a message; returns whether there was one. An error ends the trial.
  bool poll();
  /// Does the tasks that are ready, until that operation is complete. Returns whether there were any.
  bool progress(std::uint64_t number);
  std::optional<Task> pop_task();
  void perform(const Task& task);
  void finish_task(const Task& task);
  void contribute(const Task& task);
  void add_up(const Task& task);
  void copy_from_member(const Task& task);
  void accept_result(const Task& task);
  static void add_members(const Task& task, std::byte* sum);
  static std::vector<const std::byte*> terms_of_members(const Task& task);
  /// @param own  this rank's term, if it is not a message
  static std::vector<const std::byte*> terms_of_ranks(const Task& task, const std::byte* own);
  std::shared_ptr<comm::Buffer> message_for(const Task& task, GroupStep step);
  std::shared_ptr<comm::Buffer> make_message(const GroupHeader& content, std::size_t payload);
  void send_to_others(const std::shared_ptr<const comm::Buffer>& message);
  void pause(std::uint64_t number, std::chrono::microseconds length);
  void give_up_if_silent(std::uint64_t number);
  bool set_aborted(const trial::Failure& failure, bool fault);
  void tell_of_abort(const trial::Failure& failure, bool fault);

  const GroupPlace place_;
  const std::size_t rank_index_;
  const std::size_t members_;  // number of members on this rank
  GroupHub& hub_;
  const std::chrono::milliseconds silence_;
  const std::size_t unsent_before_;  // bytes of earlier groups that some rank may read late
  comm::BufferPool pool_;

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<std::uint64_t> next_;                // [members of this rank] number of the next operation
  std::map<std::uint64_t, Operation> operations_;  // incomplete operations, posted here or known from
                                                   // messages
  std::deque<Task> contributions_;
  std::deque<Task> last_tasks_;
  std::size_t at_work_ = 0;  // running tasks of all operations
  /// [ranks] Whether all members of the rank have begun an operation other than a broadcast. Until then
  /// silence is no fault, because the leader may have to wait for others, e.g. for storage.
  std::vector<bool> joined_;
  std::vector<SilenceTimer> silences_;  // [ranks] time since this rank has heard of them
  std::uint64_t newest_result_ = 0;     // newest operation of which this rank has finished a piece
  std::vector<bool> left_;  // [members of this rank] left by an error: its values are not touched any more
  std::optional<trial::Failure> failure_;
};

}  // namespace skyline::engine
