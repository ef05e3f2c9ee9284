#pragma once

#include "comm/environment.hpp"
#include "comm/link.hpp"
#include "core/record.hpp"
#include "engine/work/engine_options.hpp"
#include "engine/work/placement.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace skyline::engine {

/// The kinds of messages between rank 0 and the other ranks of a fleet, each with its sender and content.
enum class MessageKind : std::uint8_t {
  kTrial = 1,   // rank 0: train this trial in a slot
  kJournalled,  // rank 0: names of trials that are durable in the journal
  kGiveUp,      // rank 0: sequence of a group that has lost a rank
  kKill,        // rank 0: end this RankProcess on your host, which has fallen silent
  kEnd,         // rank 0: there will be no more trials
  kAbort,       // rank 0 ends by an error or is lost, or takes the receiver for lost, which must end
  kAlive,       // other ranks: the sender is alive and has nothing else to say
  kStop,        // rank 0: the run stops; other ranks: the sender wants it to stop
  kTrained,     // other ranks: a TrainedPart
  kResult,      // other ranks: an Arrival
  kStuck,       // other ranks: name of a trial that does not end; the sender ends by an error
  kFailed,      // other ranks, as the last message: the sender ends by an error
  kClosed       // other ranks, as the last message: all files of the sender are written
};

/// Returns the most bytes of a message of a run without `search.pruning`.
/// @param metrics  metrics of a result
/// @param together  ranks that may train a trial together
std::size_t most_mail_bytes(const space::SearchSpace& space, std::size_t metrics, std::size_t together);

/// A link with the messages of a fleet; messages are records (core/record.hpp).
class FleetChannel {
 public:
  /// A message; valid until the next receive().
  struct Message {
    int from = 0;
    MessageKind kind = MessageKind::kEnd;
    std::string_view content;
  };
  struct SlotTrial {
    std::size_t slot = 0;
    Assignment assignment;
  };

  /// @param prefetch_s  for the Scheduler: work that makes up for the time of a message
  /// @param most_bytes  largest message, most_mail_bytes(); the link was made for it
  FleetChannel(std::unique_ptr<comm::Link> link, const space::SearchSpace& space, std::size_t most_bytes,
               double prefetch_s, bool outlives_ranks = false);

  /// @param content  parts that the kind requires
  template <typename... Content>
  void send(int to, MessageKind kind, const Content&... content) {
    message_.clear();
    RecordWriter write(message_);
    write(kind, content...);
    send_message(to);
  }
  void send_trial(int to, std::size_t slot, const Assignment& assignment);
  void send_journalled(int to, std::span<const trial::TrialName> trials);

  std::optional<Message> receive();
  /// Reads a trial and builds its architectures again.
  /// @throws InternalError if this rank builds another architecture than the one that was sent
  SlotTrial read_trial(const Message& message) const;

  /// Returns whether the run continues without lost ranks.
  bool outlives_ranks() const { return outlives_ranks_; }
  /// Returns whether MPI knows that the rank has died.
  bool has_died(std::size_t rank) { return link_->has_died(static_cast<int>(rank)); }
  /// From now on sends nothing to a rank, and ignores its messages.
  void lose(int rank) { lost_.insert(rank); }
  /// Waits a moment until all messages have left this rank, before its process ends.
  void flush();
  /// Reports that this rank ends by an error: rank 0 to all others, the others to rank 0.
  void tell_of_failure(int rank, int ranks) noexcept;
  /// Closes the link; no other message may follow. Collective, unless the run outlives ranks.
  void close();
  double prefetch_s() const { return prefetch_s_; }

 private:
  void send_message(int to);

  std::unique_ptr<comm::Link> link_;
  const space::SearchSpace& space_;
  const std::size_t most_bytes_;
  const double prefetch_s_;
  const bool outlives_ranks_;
  std::set<int> lost_;
  std::string message_;  // message that is being sent
};

/// Makes the connection for a run's trials and results. Collective.
/// @param has_window  whether the run has a window, so that trials are asked for one by one
/// @param space       outlives the mail
/// @param most_bytes  largest message: most_mail_bytes(), and what bars need besides
FleetChannel make_fleet_channel(comm::Environment& environment, DispatchKind kind, bool has_window,
                                const space::SearchSpace& space, std::size_t most_bytes);

}  // namespace skyline::engine
