#include "engine/collective_dispatcher.hpp"

#include "skyline/core/error.hpp"

#include "engine/packing.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace skyline::engine {
namespace {

constexpr std::size_t kMostWaves = 256;  // trials of a slot in one round; bounds its buffers
constexpr std::size_t kOpenGathers = 8;  // posted and not complete, at most

}  // namespace

/// A round under way; the requests are destroyed before their buffers.
struct CollectiveDispatcher::Round {
  struct Wave {
    std::vector<std::byte> mine;  // empty records: rank 0's results are here already
    std::vector<std::byte> all;
    std::unique_ptr<comm::Request> request;
  };
  RoundHeader header;
  std::vector<std::byte> all_trials;
  std::vector<std::byte> my_trials;  // of no use: rank 0 has the trials themselves
  std::unique_ptr<comm::Request> broadcast;
  std::unique_ptr<comm::Request> scatter;
  std::deque<Wave> waves;  // posted, not complete
  std::size_t posted = 0;
  std::size_t missing = 0;  // results
};

CollectiveDispatcher::CollectiveDispatcher(comm::Communicator& world, const RoundFormat& format,
                                           const objective::Evaluator& evaluator, SlotPool& own_slots,
                                           const ResultKeeper& results, const std::vector<std::size_t>& slots)
    : world_(world), format_(format), evaluator_(evaluator), own_slots_(own_slots), results_(results) {
  for (std::size_t slot = 0; slot < format.slots; ++slot) {
    for (std::size_t rank = 0; rank < slots.size(); ++rank) {
      if (slot < slots[rank]) places_.push_back({rank, slot});
    }
  }
  require(!places_.empty(), "a run without slots");
}

CollectiveDispatcher::~CollectiveDispatcher() = default;

void CollectiveDispatcher::submit(std::span<const objective::Trial> trials) {
  waiting_.insert(waiting_.end(), trials.begin(), trials.end());
}

std::vector<Arrival> CollectiveDispatcher::poll() {
  if (round_ == nullptr && !waiting_.empty()) start_round();
  std::vector<Arrival> arrivals = own_slots_.take();
  if (round_ == nullptr) return arrivals;
  Round& round = *round_;
  const bool sent = round.broadcast->test() && round.scatter->test();
  receive_gathers(round, arrivals);
  post_gathers(round);
  require(arrivals.size() <= round.missing, "more results than trials in a round");
  round.missing -= arrivals.size();
  if (sent && round.posted == round.header.waves && round.waves.empty() && round.missing == 0) round_.reset();
  return arrivals;
}

void CollectiveDispatcher::start_round() {
  const std::size_t count = std::min(waiting_.size(), places_.size() * kMostWaves);
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(count);
  const std::vector<objective::Trial> trials(std::make_move_iterator(waiting_.begin()),
                                             std::make_move_iterator(end));
  waiting_.erase(waiting_.begin(), end);

  std::vector<double> costs;
  for (const objective::Trial& trial : trials) costs.push_back(evaluator_.predicted_cost(trial));
  const std::vector<std::size_t> slot_of = pack(costs, places_.size(), kMostWaves);
  std::vector<std::size_t> load(places_.size(), 0);
  for (const std::size_t slot : slot_of) ++load[slot];

  round_ = std::make_unique<Round>();
  Round& round = *round_;
  round.header = {RoundHeader::Command::kRound, static_cast<std::uint32_t>(*std::ranges::max_element(load)),
                  results_.journalled()};
  round.missing = trials.size();
  place(round, trials, slot_of);
  round.broadcast = world_.broadcast(std::as_writable_bytes(std::span(&round.header, 1)), 0);
  round.scatter = world_.scatter(round.all_trials, round.my_trials, 0);
}

/// Trials are in the order of their numbers, and so is each slot's queue.
void CollectiveDispatcher::place(Round& round, const std::vector<objective::Trial>& trials,
                                 const std::vector<std::size_t>& slot_of) {
  const std::size_t record_bytes = format_.trial.bytes();
  const std::size_t waves = round.header.waves;
  round.my_trials.resize(format_.slots * waves * record_bytes);
  round.all_trials.resize(round.my_trials.size() * static_cast<std::size_t>(world_.size()));
  std::vector<std::size_t> next(places_.size(), 0);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const SlotPlace& target = places_[slot_of[i]];
    const std::size_t row = (target.rank * format_.slots + target.slot) * waves + next[slot_of[i]]++;
    if (target.rank == 0) {
      own_slots_.submit(target.slot, trials[i]);
    } else {
      format_.trial.write(trials[i], std::span(round.all_trials).subspan(row * record_bytes, record_bytes));
    }
  }
}

void CollectiveDispatcher::post_gathers(Round& round) {
  const std::size_t wave_bytes = format_.slots * format_.result.bytes();
  while (round.posted < round.header.waves && round.waves.size() < kOpenGathers) {
    Round::Wave& wave = round.waves.emplace_back();
    wave.mine.resize(wave_bytes);
    wave.all.resize(wave_bytes * static_cast<std::size_t>(world_.size()));
    wave.request = world_.gather(wave.mine, wave.all, 0);
    ++round.posted;
  }
}

void CollectiveDispatcher::receive_gathers(Round& round, std::vector<Arrival>& arrivals) {
  const std::size_t record_bytes = format_.result.bytes();
  while (!round.waves.empty() && round.waves.front().request->test()) {
    const std::span<const std::byte> all = round.waves.front().all;
    for (std::size_t offset = 0; offset < all.size(); offset += record_bytes) {
      auto arrival = format_.result.read(all.subspan(offset, record_bytes));
      if (arrival) arrivals.push_back(std::move(*arrival));
    }
    round.waves.pop_front();
  }
}

/// The other ranks have been told by the stop channel: their part of the round ends with its waves.
void CollectiveDispatcher::stop() {
  waiting_.clear();
  own_slots_.request_stop();
}

void CollectiveDispatcher::finish() {
  require(waiting_.empty(), "the run ends with trials that were never sent out");
  while (!idle()) require(poll().empty(), "a result came after the run's end");
  RoundHeader end{RoundHeader::Command::kEnd, 0, results_.journalled()};
  comm::wait(*world_.broadcast(std::as_writable_bytes(std::span(&end, 1)), 0));
}

}  // namespace skyline::engine
