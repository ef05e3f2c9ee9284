#pragma once

#include "comm/environment.hpp"
#include "comm/link.hpp"
#include "engine/dispatch/rank_watch.hpp"
#include "engine/work/engine_options.hpp"
#include "engine/work/records.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace skyline::engine {

/// The kinds of messages between rank 0 and the other ranks of a fleet.
enum class MailKind : std::uint32_t {
  kTrial = 1,   // of rank 0: a slot is to train it
  kJournalled,  // of rank 0: these trials are durable in the journal
  kGiveUp,      // of rank 0: a group has lost a rank
  kKill,        // of rank 0: end a process of your host that has fallen silent
  kEnd,         // of rank 0: no trial comes any more
  kAbort,       // rank 0 ends by an error, or is lost: all must end
  kAlive,       // of all, when there is nothing else to say
  kStop,        // of rank 0: the run stops; of others: they want it to
  kTrained,  // of others: a slot has done its part of a trial, whose result comes when its files are written
  kResult,   // of others
  kStuck,    // of others: a trial does not end, and they end by an error
  kFailed,   // of others, the last one: they end by an error
  kClosed    // of others, the last one: all their files are written
};

/// The records that travel between ranks.
struct FleetFormat {
  TrialRecord trial;
  ResultRecord result;
};

/// A link with the words of a fleet.
class FleetMail {
 public:
  /// A message; valid until the next receive().
  struct Letter {
    int from = 0;
    MailKind kind = MailKind::kEnd;
    std::size_t slot = 0;  // of kTrial
    std::span<const std::byte> content;
  };

  /// @param prefetch_s  for the Scheduler: what makes up for the time that a letter takes
  FleetMail(std::unique_ptr<comm::Link> link, const FleetFormat& format, double prefetch_s,
            bool outlives_ranks = false);
  static std::size_t most_bytes(const FleetFormat& format);

  void send(int to, MailKind kind) { send(to, kind, 0, {}); }
  void send_trial(int to, std::size_t slot, const Assignment& assignment);
  void send_give_up(int to, std::uint64_t sequence);
  void send_kill(int to, const RankProcess& process);
  void send_journalled(int to, std::span<const trial::TrialName> trials);
  void send_result(const Arrival& arrival);
  void send_trained(const TrainedPart& part);
  void send_stuck(trial::TrialName trial);

  std::optional<Letter> receive();
  Assignment read_trial(const Letter& letter) const { return format_.trial.read(letter.content); }
  Arrival read_result(const Letter& letter) const { return format_.result.read(letter.content); }
  static std::vector<trial::TrialName> read_journalled(const Letter& letter);
  static TrainedPart read_trained(const Letter& letter);
  static trial::TrialName read_stuck(const Letter& letter);
  static std::uint64_t read_give_up(const Letter& letter);
  static RankProcess read_kill(const Letter& letter);

  /// Whether the run goes on without ranks that are lost.
  bool outlives_ranks() const { return outlives_ranks_; }
  /// Whether MPI knows that the rank has died.
  bool has_died(std::size_t rank) { return link_->has_died(static_cast<int>(rank)); }
  /// From here on nothing is sent to a rank, and nothing is heard of it.
  void lose(int rank) { lost_.insert(rank); }
  /// Until all has left this rank, for a moment at most: before its process ends.
  void flush();
  /// Tells that this rank ends by an error: rank 0 all others, and they rank 0.
  void tell_of_failure(int rank, int ranks) noexcept;
  /// Collective, unless the run outlives ranks. No other message follows.
  void close();
  double prefetch_s() const { return prefetch_s_; }

 private:
  void send(int to, MailKind kind, std::size_t slot, std::span<const std::byte> content);

  std::unique_ptr<comm::Link> link_;
  const FleetFormat format_;
  const double prefetch_s_;
  const bool outlives_ranks_;
  std::set<int> lost_;
  std::vector<std::byte> message_;
  std::vector<std::byte> record_;
};

/// Collective: the way that a run's trials and results take.
/// @param has_window  of the run: trials are asked for one by one
FleetMail make_fleet_mail(comm::Environment& environment, DispatchKind kind, bool has_window,
                          const FleetFormat& format);

}  // namespace skyline::engine
