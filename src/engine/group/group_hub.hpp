#pragma once

#include "skyline/trial/trial_group.hpp"

#include "comm/environment.hpp"
#include "comm/mailbox.hpp"
#include "engine/group/group_exchange.hpp"
#include "engine/group/group_pieces.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace skyline::engine {

/// Returns the place of the thread with that number on a rank. Slots, and members of a group, are bound to
/// the rank's processors in turn, or use all of them.
trial::Place place_of_thread(trial::Place rank, bool binds, std::size_t thread);

/// Makes the groups of this rank's members, one after the other. It must outlive the groups. Any thread may
/// use it.
class GroupHub {
 public:
  /// @param mailbox  nullptr if groups stay on this rank
  /// @param places   places of all ranks
  /// @param binds    whether the members of a rank are bound to its processors in turn
  /// @param silence  time without any heartbeat of a rank, even send_heartbeat(), after which members give up
  ///                 the trial
  GroupHub(std::unique_ptr<comm::Mailbox> mailbox, std::vector<trial::Place> places, bool binds,
           std::chrono::milliseconds silence);
  /// Makes a hub with a silence of 300 s. Collective.
  /// @param forms_groups  whether there will be groups of several members; if not, ranks cannot reach each
  ///                      other
  static std::unique_ptr<GroupHub> make(comm::Environment& environment, bool forms_groups,
                                        const trial::Place& place = {}, bool binds = false);
  ~GroupHub();

  /// Returns whether a group may have members on several ranks.
  bool spans_ranks() const { return mailbox_ != nullptr; }

  /// Joins a group. Not collective, and returns at once. A member's first operation waits, without a limit,
  /// for the members on other ranks.
  /// @param place  contains this rank, which leaves one group before it joins the next
  /// @return       the views of this rank's members, in order; use each on its own thread
  /// @throws UserError if the group has several ranks, and groups of this job cannot (spans_ranks)
  std::vector<std::unique_ptr<trial::TrialGroup>> join(const GroupPlace& place);

  /// Tells the other ranks of the active group once a second that this one runs. The rank's main thread calls
  /// it again and again; it never waits.
  void send_heartbeat();

  /// Notes that a rank of the group with this sequence number is lost. Its members here end the trial, now or
  /// when they join, and its result does not count. Any thread may call it.
  void give_up(std::uint64_t sequence);
  /// Returns whether give_up() was called for the group.
  bool gave_up(std::uint64_t sequence) const;

  /// A fault of a group of this rank that no member decided on: a member fell silent, or members called
  /// different operations. Its trial then has no result, and the run must end.
  std::optional<std::string> fault() const;

  /// Collective: call after the last group, unless the process ends by an error; waits until the members of
  /// this rank have left it.
  void close();

 private:
  friend class GroupExchange;
  class View;
  // Functions for the active group.
  /// Looks for a message and hands it to its group; returns whether there was one. Never waits.
  bool poll();
  /// Returns a message of `size` bytes for the caller to fill.
  std::shared_ptr<comm::Buffer> acquire(std::size_t size) { return mailbox_->acquire(size); }
  void send(int rank, std::shared_ptr<const comm::Buffer> message) {
    mailbox_->send(std::move(message), rank);
  }
  std::size_t unsent_bytes() const { return mailbox_ ? mailbox_->unsent_bytes() : 0; }
  /// Returns the name of a rank for messages, e.g. "rank 1, node07".
  std::string name_of(int rank) const;
  void report_fault(const std::string& what);

  void deliver(comm::Message message);
  void leave();

  std::unique_ptr<comm::Mailbox> mailbox_;
  const std::vector<trial::Place> places_;
  const bool binds_;
  std::chrono::milliseconds silence_;
  std::chrono::steady_clock::time_point shown_;  // time of the last heartbeat of this rank

  std::mutex polling_;
  mutable std::mutex mutex_;      // guards the members below
  std::condition_variable left_;  // signals that no group is active
  std::shared_ptr<GroupExchange> active_;
  std::size_t views_ = 0;  // number of views of the active group
  std::optional<std::uint64_t> last_sequence_;
  std::multimap<std::uint64_t, comm::Message> early_;  // messages of groups that this rank has not joined yet
  std::set<std::uint64_t> given_up_;
  std::optional<std::string> fault_;
};

}  // namespace skyline::engine
