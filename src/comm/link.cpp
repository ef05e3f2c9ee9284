#include "comm/link.hpp"

#include "skyline/core/error.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <ranges>
#include <thread>
#include <utility>
#include <vector>

namespace skyline::comm {
namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kMostRows = 64;                           // most messages of a rank in one wave
constexpr std::size_t kMostWaveBytes = std::size_t{16} << 20U;  // most bytes of all ranks in one wave
constexpr std::chrono::microseconds kShortPause{1000};          // pause after a wave without messages
constexpr std::chrono::microseconds kLongPause{20'000};         // pause when nothing happens
constexpr std::chrono::microseconds kLongPauseOfARank{20};      // longest pause per rank, if that is longer

/// The announcement of a wave, which rank 0 broadcasts.
struct WaveHeader {
  std::uint32_t down = 0;  // rows that are scattered to each rank; 0 if there is no scatter
  std::uint32_t up = 0;    // rows that are gathered from each rank; 0 closes the link
  std::uint32_t pause_us = 0;
};

/// The first bytes of each row.
struct RowHead {
  std::uint32_t bytes = 0;    // size of the message; 0 if there is none
  std::uint32_t waiting = 0;  // number of messages for which the sender had no room
};

/// Messages that wait for a wave. They are written as rows and read from rows.
class Rows {
 public:
  explicit Rows(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  std::size_t row_bytes() const { return sizeof(RowHead) + most_bytes_; }

  /// Moves the first messages of a queue into rows.
  void write(std::deque<Bytes>& queue, std::span<std::byte> rows) const {
    for (std::size_t offset = 0; offset < rows.size(); offset += row_bytes()) {
      const Bytes message = queue.empty() ? Bytes() : std::move(queue.front());
      if (!queue.empty()) queue.pop_front();
      const RowHead head{static_cast<std::uint32_t>(message.size()),
                         static_cast<std::uint32_t>(queue.size())};
      std::memcpy(rows.data() + offset, &head, sizeof head);
      std::ranges::copy(message, rows.begin() + static_cast<std::ptrdiff_t>(offset + sizeof head));
    }
  }
  /// Appends the messages of the rows to a queue; the rows themselves stay.
  /// @return  number of messages that the sender could not send yet
  std::size_t read(std::span<const std::byte> rows, int from, std::deque<LinkMessage>& queue) const {
    RowHead head;
    for (std::size_t offset = 0; offset < rows.size(); offset += row_bytes()) {
      std::memcpy(&head, rows.data() + offset, sizeof head);
      require(head.bytes <= most_bytes_, "a message of a wave is too long");
      if (head.bytes == 0) break;
      queue.push_back({from, rows.subspan(offset + sizeof head, head.bytes)});
    }
    return head.waiting;
  }

 private:
  std::size_t most_bytes_;
};

/// The parts that rank 0 and the other ranks have in common.
class CollectiveLink : public Link {
 public:
  CollectiveLink(Communicator& world, std::size_t most_bytes)
      : world_(world),
        rows_(most_bytes),
        most_rows_(std::clamp<std::size_t>(
            kMostWaveBytes / (rows_.row_bytes() * static_cast<std::size_t>(world.size())), 1, kMostRows)) {}

  std::optional<LinkMessage> receive() final {
    if (incoming_.empty()) progress();
    if (incoming_.empty()) return std::nullopt;
    const LinkMessage message = incoming_.front();
    incoming_.pop_front();
    return message;
  }

 protected:
  /// Continues the waves as far as possible. Called when all messages of the last wave have been received.
  virtual void progress() = 0;

  Communicator& world_;
  const Rows rows_;
  const std::size_t most_rows_;
  std::deque<LinkMessage> incoming_;  // messages in the rows of the last wave
};

/// Returns the first bytes of a buffer that grows but never shrinks, because new bytes are filled first.
std::span<std::byte> first_of(Bytes& buffer, std::size_t bytes) {
  if (buffer.size() < bytes) buffer.resize(bytes);
  return std::span(buffer).first(bytes);
}

class CoordinatorLink final : public CollectiveLink {
 public:
  using CollectiveLink::CollectiveLink;

  void send(int to, std::span<const std::byte> message) override {
    outgoing_.at(static_cast<std::size_t>(to)).emplace_back(message.begin(), message.end());
  }
  bool is_sent() const override {
    return requests_.empty() &&
           std::ranges::all_of(outgoing_, [](const std::deque<Bytes>& queue) { return queue.empty(); });
  }
  void close() override {
    while (!is_sent()) {
      progress();
      std::this_thread::sleep_for(kShortPause);
    }
    require(incoming_.empty(), "a link is closed while messages are on their way");
    header_ = {};
    if (world_.size() > 1) wait(*broadcast_header());
  }

 private:
  std::unique_ptr<Request> broadcast_header() {
    return world_.broadcast(std::as_writable_bytes(std::span(&header_, 1)), 0);
  }

  /// Begins the next wave one call later, so that answers to the messages of the last wave travel with it.
  void progress() override {
    if (world_.size() == 1 || std::exchange(pauses_, false)) return;
    if (requests_.empty()) begin();
    if (!is_complete()) return;
    const std::size_t rank_bytes = header_.up * rows_.row_bytes();
    waiting_ = 0;
    for (std::size_t rank = 1; rank < outgoing_.size(); ++rank) {
      const auto of_rank = std::span(up_).subspan(rank * rank_bytes, rank_bytes);
      waiting_ = std::max(waiting_, rows_.read(of_rank, static_cast<int>(rank), incoming_));
    }
    pauses_ = !incoming_.empty();
    const bool carried = pauses_ || header_.down > 0;
    const auto longest = std::max(kLongPause, kLongPauseOfARank * world_.size());
    pause_ = carried ? kShortPause : std::min(2 * pause_, longest);
  }

  /// Looks at the gather first, since it ends last.
  bool is_complete() {
    const auto latest_first = std::views::reverse(requests_);
    if (!std::ranges::all_of(latest_first, [](const auto& request) { return request->test(); })) return false;
    requests_.clear();
    return true;
  }

  void begin() {
    std::size_t most = 0;
    for (const std::deque<Bytes>& queue : outgoing_) most = std::max(most, queue.size());
    header_.down = static_cast<std::uint32_t>(std::min(most, most_rows_));
    header_.up = static_cast<std::uint32_t>(std::clamp<std::size_t>(waiting_, 1, most_rows_));
    header_.pause_us = static_cast<std::uint32_t>(pause_.count());
    requests_.push_back(broadcast_header());
    const std::size_t down_bytes = header_.down * rows_.row_bytes();
    const auto down = first_of(down_, down_bytes * outgoing_.size());
    for (std::size_t rank = 0; rank < outgoing_.size(); ++rank) {
      rows_.write(outgoing_[rank], down.subspan(rank * down_bytes, down_bytes));
    }
    if (header_.down > 0) requests_.push_back(world_.scatter(down, first_of(mine_, down_bytes), 0));
    const auto none = first_of(none_, header_.up * rows_.row_bytes());
    requests_.push_back(world_.gather(none, first_of(up_, none.size() * outgoing_.size()), 0));
  }

  WaveHeader header_;
  std::vector<std::deque<Bytes>> outgoing_ =
      std::vector<std::deque<Bytes>>(static_cast<std::size_t>(world_.size()));  // outgoing messages by rank
  Bytes down_;
  Bytes up_;
  Bytes mine_;                                      // receive buffer of rank 0 for its own part: always empty
  Bytes none_;                                      // send buffer of rank 0 for its own part: always empty
  std::vector<std::unique_ptr<Request>> requests_;  // operations of the current wave; empty between waves
  std::size_t waiting_ = 0;                         // most messages for which a rank had no room
  bool pauses_ = false;
  std::chrono::microseconds pause_ = kShortPause;
};

class WorkerLink final : public CollectiveLink {
 public:
  WorkerLink(Communicator& world, std::size_t most_bytes) : CollectiveLink(world, most_bytes) {
    await_header();
  }

  void send(int to, std::span<const std::byte> message) override {
    require(to == 0, "a rank speaks to rank 0 alone");
    outgoing_.emplace_back(message.begin(), message.end());
  }
  bool is_sent() const override { return outgoing_.empty() && stage_ != Stage::kGather; }
  void close() override {
    for (Backoff backoff; !closed_; backoff.pause()) progress();
    require(outgoing_.empty() && incoming_.empty(), "a link is closed while messages are on their way");
  }

 private:
  enum class Stage { kHeader, kScatter, kPause, kGather };

  void await_header() {
    request_ = world_.broadcast(std::as_writable_bytes(std::span(&header_, 1)), 0);
    stage_ = Stage::kHeader;
  }

  void progress() override {
    while (!closed_ && advance()) {
    }
  }

  /// Continues with the next stage of a wave. Returns false if the current stage has not ended.
  bool advance() {
    if (stage_ == Stage::kPause) {
      if (outgoing_.empty() && Clock::now() < joins_) return false;
      const auto up = first_of(up_, header_.up * rows_.row_bytes());
      rows_.write(outgoing_, up);
      request_ = world_.gather(up, {}, 0);
      stage_ = Stage::kGather;
    }
    if (!request_->test()) return false;
    if (stage_ == Stage::kGather) {
      await_header();
    } else if (stage_ == Stage::kHeader && header_.up == 0) {
      closed_ = true;
    } else if (stage_ == Stage::kHeader && header_.down > 0) {
      request_ = world_.scatter({}, scattered(), 0);
      stage_ = Stage::kScatter;
    } else {
      if (stage_ == Stage::kScatter) rows_.read(scattered(), 0, incoming_);
      joins_ = Clock::now() + std::chrono::microseconds(header_.pause_us);
      stage_ = Stage::kPause;
      return incoming_.empty();  // Answers to received messages can still join this wave.
    }
    return true;
  }

  std::span<std::byte> scattered() { return first_of(down_, header_.down * rows_.row_bytes()); }

  Stage stage_ = Stage::kHeader;
  WaveHeader header_;
  std::deque<Bytes> outgoing_;
  Bytes down_;
  Bytes up_;
  std::unique_ptr<Request> request_;
  Clock::time_point joins_;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<Link> make_collective_link(Communicator& world, std::size_t most_bytes) {
  if (world.rank() == 0) return std::make_unique<CoordinatorLink>(world, most_bytes);
  return std::make_unique<WorkerLink>(world, most_bytes);
}

}  // namespace skyline::comm
