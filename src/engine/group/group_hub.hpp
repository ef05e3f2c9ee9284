#pragma once

#include "skyline/trial/trial_group.hpp"

#include "comm/environment.hpp"
#include "comm/mailbox.hpp"
#include "engine/group/group_exchange.hpp"
#include "engine/group/group_place.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace skyline::engine {

/// The groups that this rank's members belong to, one after the other. Outlives the groups; any thread.
class GroupHub final : private GroupPort {
 public:
  /// @param mailbox  nothing: groups stay on this rank
  /// @param hosts    of all ranks, for messages
  /// @param silence  how long members wait for another that is there and does nothing, before they give the
  ///                 trial up
  GroupHub(std::unique_ptr<comm::Mailbox> mailbox, std::vector<std::string> hosts,
           std::chrono::milliseconds silence);
  /// Collective. With the silence of 300 s.
  /// @param forms_groups  whether there will be groups of several members; else ranks get no way to each
  /// other
  static std::unique_ptr<GroupHub> make(comm::Environment& environment, bool forms_groups);
  ~GroupHub() override;

  /// Whether a group may have members on several ranks.
  bool spans_ranks() const { return mailbox_ != nullptr; }

  /// Not collective, never waits: members wait for those of other ranks in their first operation, as long as
  /// it takes.
  /// @param place  this rank is one of its ranks; groups of one rank come one after the other
  /// @return       the views of this rank's members, in order; give each to a thread of its own
  /// @throws UserError if it has several ranks and may not
  std::vector<std::unique_ptr<trial::TrialGroup>> join(const GroupPlace& place);

  /// What went wrong with a group of this rank that is nobody's decision: a member fell silent, or members
  /// called different operations. Its trial has no result then: the run must end.
  std::optional<std::string> fault() const;

  /// Collective: before the end, after the last group; waits until the members of this rank have left it. Not
  /// if the process ends by an error.
  void close();

 private:
  class View;
  bool poll() override;
  std::shared_ptr<comm::Parcel> take(std::size_t size) override;
  void send(int rank, std::shared_ptr<const comm::Parcel> parcel) override;
  std::size_t unsent_bytes() const override;
  std::string name_of(int rank) const override;
  void report_fault(const std::string& what) override;
  void deliver(comm::Letter letter);
  void leave();

  std::unique_ptr<comm::Mailbox> mailbox_;
  std::vector<std::string> hosts_;
  std::chrono::milliseconds silence_;

  std::mutex polling_;
  mutable std::mutex mutex_;      // of what follows
  std::condition_variable left_;  // nothing is active
  std::shared_ptr<GroupExchange> active_;
  std::size_t views_ = 0;  // of the active one
  std::optional<std::uint64_t> last_sequence_;
  std::multimap<std::uint64_t, comm::Letter> early_;  // of groups that this rank has yet to join
  std::optional<std::string> fault_;
};

}  // namespace skyline::engine
