#include "engine/dispatch/fleet_mail.hpp"

#include "skyline/core/error.hpp"

#include "comm/agreement.hpp"
#include "core/backoff.hpp"
#include "core/log.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

namespace skyline::engine {
namespace {

struct Envelope {
  MailKind kind = MailKind::kEnd;
  std::uint32_t slot = 0;
};

struct PackedPart {
  std::uint64_t trial = 0;
  std::uint64_t slot = 0;
  double seconds = 0;
};

constexpr std::size_t kLeastContent = 64;  // bytes of the largest message for which there is always room

// A letter takes some 10 us from rank to rank, as long as both look; a wave takes up to 30 ms.
constexpr double kPointToPointPrefetch_s = 0.05;
constexpr double kCollectivePrefetch_s = 1;

constexpr double kMostFlush_s = 2;

template <typename Content>
Content content_of(const FleetMail::Letter& letter) {
  Content content;
  require(letter.content.size() == sizeof content, "a message of a wrong size");
  std::memcpy(&content, letter.content.data(), sizeof content);
  return content;
}

}  // namespace

FleetMail::FleetMail(std::unique_ptr<comm::Link> link, const FleetFormat& format, double prefetch_s,
                     bool outlives_ranks)
    : link_(std::move(link)), format_(format), prefetch_s_(prefetch_s), outlives_ranks_(outlives_ranks) {}

std::size_t FleetMail::most_bytes(const FleetFormat& format) {
  return sizeof(Envelope) + std::max({format.trial.bytes(), format.result.bytes(), kLeastContent});
}

void FleetMail::send(int to, MailKind kind, std::size_t slot, std::span<const std::byte> content) {
  if (lost_.contains(to)) return;
  const Envelope envelope{kind, static_cast<std::uint32_t>(slot)};
  message_.resize(sizeof envelope + content.size());
  std::memcpy(message_.data(), &envelope, sizeof envelope);
  std::ranges::copy(content, message_.begin() + sizeof envelope);
  link_->send(to, message_);
}

void FleetMail::send_trial(int to, std::size_t slot, const Assignment& assignment) {
  record_.assign(format_.trial.bytes(), std::byte{});
  format_.trial.write(assignment, record_);
  send(to, MailKind::kTrial, slot, record_);
}

void FleetMail::send_journalled(int to, std::span<const trial::TrialName> trials) {
  const std::size_t most = (most_bytes(format_) - sizeof(Envelope)) / sizeof(std::uint64_t);
  while (!trials.empty()) {
    std::vector<std::uint64_t> names;
    for (const trial::TrialName trial : trials.first(std::min(most, trials.size())))
      names.push_back(pack(trial));
    send(to, MailKind::kJournalled, 0, std::as_bytes(std::span(names)));
    trials = trials.subspan(names.size());
  }
}

void FleetMail::send_result(const Arrival& arrival) {
  record_.assign(format_.result.bytes(), std::byte{});
  format_.result.write(arrival, record_);
  send(comm::kCoordinator, MailKind::kResult, 0, record_);
}

void FleetMail::send_trained(const TrainedPart& part) {
  const PackedPart packed{pack(part.trial), part.slot, part.seconds};
  send(comm::kCoordinator, MailKind::kTrained, 0, std::as_bytes(std::span(&packed, 1)));
}

void FleetMail::send_stuck(trial::TrialName trial) {
  const std::uint64_t packed = pack(trial);
  send(comm::kCoordinator, MailKind::kStuck, 0, std::as_bytes(std::span(&packed, 1)));
}

void FleetMail::send_give_up(int to, std::uint64_t sequence) {
  send(to, MailKind::kGiveUp, 0, std::as_bytes(std::span(&sequence, 1)));
}

void FleetMail::send_kill(int to, const RankProcess& process) {
  send(to, MailKind::kKill, 0, std::as_bytes(std::span(&process, 1)));
}

std::optional<FleetMail::Letter> FleetMail::receive() {
  std::optional<comm::LinkMessage> message = link_->receive();
  while (message && lost_.contains(message->from)) message = link_->receive();
  if (!message) return std::nullopt;
  Envelope envelope;
  require(message->bytes.size() >= sizeof envelope, "a message without an envelope");
  std::memcpy(&envelope, message->bytes.data(), sizeof envelope);
  return Letter{message->from, envelope.kind, envelope.slot, message->bytes.subspan(sizeof envelope)};
}

std::vector<trial::TrialName> FleetMail::read_journalled(const Letter& letter) {
  std::vector<std::uint64_t> names(letter.content.size() / sizeof(std::uint64_t));
  std::memcpy(names.data(), letter.content.data(), names.size() * sizeof(std::uint64_t));
  std::vector<trial::TrialName> trials;
  for (const std::uint64_t name : names) trials.push_back(unpack_name(name));
  return trials;
}

TrainedPart FleetMail::read_trained(const Letter& letter) {
  const auto packed = content_of<PackedPart>(letter);
  return {unpack_name(packed.trial), packed.slot, packed.seconds};
}

trial::TrialName FleetMail::read_stuck(const Letter& letter) {
  return unpack_name(content_of<std::uint64_t>(letter));
}

std::uint64_t FleetMail::read_give_up(const Letter& letter) {
  return content_of<std::uint64_t>(letter);
}

RankProcess FleetMail::read_kill(const Letter& letter) {
  return content_of<RankProcess>(letter);
}

void FleetMail::flush() {
  const auto begin = std::chrono::steady_clock::now();
  for (Backoff backoff; !link_->is_sent() && seconds_since(begin) < kMostFlush_s; backoff.pause()) {
    link_->receive();
  }
}

void FleetMail::tell_of_failure(int rank, int ranks) noexcept {
  try {
    if (rank > 0) send(comm::kCoordinator, MailKind::kFailed);
    for (int to = 1; rank == 0 && to < ranks; ++to) send(to, MailKind::kAbort);
    flush();
  } catch (const std::exception& error) {  // they will notice the silence
    log::warning(error.what());
  }
}

void FleetMail::close() {
  if (outlives_ranks_) {
    flush();
  } else {
    link_->close();
  }
}

FleetMail make_fleet_mail(comm::Environment& environment, DispatchKind kind, bool has_window,
                          const FleetFormat& format) {
  const bool survives = comm::share(environment.world(), environment.launch().survivors_live);
  const std::size_t bytes = FleetMail::most_bytes(format);
  if (kind == DispatchKind::kPointToPoint || (kind == DispatchKind::kAuto && (has_window || survives))) {
    if (auto link = environment.make_link(bytes)) {
      return {std::move(link), format, kPointToPointPrefetch_s, survives};
    }
  }
  return {comm::make_collective_link(environment.world(), bytes), format, kCollectivePrefetch_s};
}

}  // namespace skyline::engine
