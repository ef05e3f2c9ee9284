#include "engine/dispatch/fleet_channel.hpp"

#include "skyline/core/error.hpp"

#include "comm/agreement.hpp"
#include "core/backoff.hpp"
#include "core/log.hpp"
#include "trial/trial_record.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace skyline::engine {
namespace {

constexpr std::size_t kMostHeadBytes = 640;      // bytes of a message without genotypes and measurements
constexpr std::size_t kMostParameterBytes = 12;  // choices of two architectures, and whether they are used
constexpr std::size_t kMostRankBytes = 3;        // the number of one of two million ranks

// A message takes some 10 us between two polling ranks; a wave takes up to 30 ms.
constexpr double kPointToPointPrefetch_s = 0.05;
constexpr double kCollectivePrefetch_s = 1;

constexpr double kMostFlush_s = 2;

/// Builds the architecture of a message, and checks that it is the one that was sent.
space::Architecture build(const space::SearchSpace& space, const space::Architecture& sent,
                          trial::TrialNumber number) {
  space::Architecture built = space.build(sent.genotype);
  if (built.id != sent.id) {
    throw InternalError("trial " + std::to_string(number) + ": this rank builds " + to_text(built.id) +
                        ", rank 0 sent " + to_text(sent.id));
  }
  built.counted = sent.counted;
  return built;
}

}  // namespace

std::size_t most_mail_bytes(const space::SearchSpace& space, std::size_t metrics, std::size_t together) {
  const std::size_t numbers = metrics + 2 * space.counted().size();  // counted ones of two architectures
  return kMostHeadBytes + kMostParameterBytes * space.parameters().size() + sizeof(double) * numbers +
         kMostRankBytes * together;
}

FleetChannel::FleetChannel(std::unique_ptr<comm::Link> link, const space::SearchSpace& space,
                           std::size_t most_bytes, double prefetch_s, bool outlives_ranks)
    : link_(std::move(link)),
      space_(space),
      most_bytes_(most_bytes),
      prefetch_s_(prefetch_s),
      outlives_ranks_(outlives_ranks) {}

void FleetChannel::send_message(int to) {
  if (lost_.contains(to)) return;
  require(message_.size() <= most_bytes_, "a message is longer than its link takes");
  link_->send(to, std::as_bytes(std::span(message_)));
}

void FleetChannel::send_trial(int to, std::size_t slot, const Assignment& assignment) {
  send(to, MessageKind::kTrial, slot, *assignment.trial, assignment.trial->bars, assignment.group,
       assignment.attempt, assignment.tried, assignment.losses, assignment.last_failure, assignment.in_doubt);
}

FleetChannel::SlotTrial FleetChannel::read_trial(const Message& message) const {
  const auto trial = std::make_shared<trial::Trial>();
  SlotTrial read{0, {trial, {}}};
  RecordReader reader(message.content);
  reader(read.slot, *trial, trial->bars, read.assignment.group, read.assignment.attempt,
         read.assignment.tried, read.assignment.losses, read.assignment.last_failure,
         read.assignment.in_doubt);
  require(reader.at_end(), "the record of a trial has bytes after its end");
  trial::replace_architectures(
      *trial, [&](const space::Architecture& sent) { return build(space_, sent, trial->number); });
  return read;
}

void FleetChannel::send_journalled(int to, std::span<const trial::TrialName> trials) {
  const std::size_t most = kMostHeadBytes / sizeof(trial::TrialName) / 2;  // number of names in a message
  for (; !trials.empty(); trials = trials.subspan(std::min(most, trials.size()))) {
    send(to, MessageKind::kJournalled, trials.first(std::min(most, trials.size())));
  }
}

std::optional<FleetChannel::Message> FleetChannel::receive() {
  std::optional<comm::LinkMessage> message = link_->receive();
  while (message && lost_.contains(message->from)) message = link_->receive();
  if (!message) return std::nullopt;
  const std::string_view record(reinterpret_cast<const char*>(message->bytes.data()), message->bytes.size());
  require(!record.empty(), "a message without a kind");
  return Message{message->from, MessageKind{static_cast<std::uint8_t>(record.front())}, record.substr(1)};
}

void FleetChannel::flush() {
  const auto begin = std::chrono::steady_clock::now();
  for (Backoff backoff; !link_->is_sent() && seconds_since(begin) < kMostFlush_s; backoff.pause()) {
    link_->receive();
  }
}

void FleetChannel::tell_of_failure(int rank, int ranks) noexcept {
  try {
    if (rank > 0) send(comm::kCoordinator, MessageKind::kFailed);
    for (int to = 1; rank == 0 && to < ranks; ++to) send(to, MessageKind::kAbort);
    flush();
  } catch (const std::exception& error) {  // the other ranks will notice the silence
    log::warning(error.what());
  }
}

void FleetChannel::close() {
  if (outlives_ranks_) {
    flush();
  } else {
    link_->close();
  }
}

FleetChannel make_fleet_channel(comm::Environment& environment, DispatchKind kind, bool has_window,
                                const space::SearchSpace& space, std::size_t most_bytes) {
  const bool survives = comm::share(environment.world(), environment.launch().survivors_live);
  if (kind == DispatchKind::kPointToPoint || (kind == DispatchKind::kAuto && (has_window || survives))) {
    if (auto link = environment.make_link(most_bytes)) {
      return {std::move(link), space, most_bytes, kPointToPointPrefetch_s, survives};
    }
  }
  return {comm::make_collective_link(environment.world(), most_bytes), space, most_bytes,
          kCollectivePrefetch_s};
}

}  // namespace skyline::engine
