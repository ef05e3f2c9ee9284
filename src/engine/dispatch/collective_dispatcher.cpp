#include "engine/dispatch/collective_dispatcher.hpp"

#include "skyline/core/error.hpp"

#include "core/log.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace skyline::engine {
namespace {

constexpr std::size_t kMostWaves = 256;  // per slot in one round; bounds the buffers
constexpr std::size_t kOpenGathers = 8;  // most incomplete gathers

/// Number of trials of the fullest slot.
std::uint32_t fullest_slot(const RoundPlan& plan, std::size_t slots, std::size_t ranks) {
  std::vector<std::uint32_t> count(ranks * slots, 0);
  for (const Placement& place : plan.places) {
    for (std::size_t rank = place.rank; rank < place.rank + place.ranks; ++rank) {
      ++count[rank * slots + place.slot];
    }
  }
  return *std::ranges::max_element(count);
}

}  // namespace

/// A running round; the requests are destroyed before their buffers.
struct CollectiveDispatcher::Round {
  struct Wave {
    std::vector<std::byte> mine;  // empty records: rank 0's results need no gather
    std::vector<std::byte> all;
    std::unique_ptr<comm::Request> request;
  };
  RoundHeader header;
  std::vector<std::uint64_t> journalled;  // names, packed
  std::vector<std::byte> all_trials;
  std::vector<std::byte> my_trials;                      // unused: rank 0 has the trials themselves
  std::vector<std::unique_ptr<comm::Request>> requests;  // of the above
  std::deque<Wave> waves;                                // posted, not complete
  std::size_t posted = 0;
  std::size_t missing = 0;  // results and times of followers that are still to come
};

CollectiveDispatcher::CollectiveDispatcher(comm::Communicator& world, const RoundFormat& format,
                                           const trial::Evaluator& evaluator, SlotPool& own_slots,
                                           ResultKeeper& results, const RankTable& ranks,
                                           std::string members_key, std::set<trial::TrialName> alone)
    : world_(world),
      format_(format),
      evaluator_(evaluator),
      own_slots_(own_slots),
      results_(results),
      ranks_(ranks),
      members_key_(std::move(members_key)),
      alone_(std::move(alone)) {}

CollectiveDispatcher::~CollectiveDispatcher() = default;

void CollectiveDispatcher::submit(std::span<const trial::Trial> trials) {
  for (const trial::Trial& trial : trials) {
    (alone_.contains(trial.name()) ? waiting_alone_ : waiting_).push_back(trial);
  }
}

std::vector<Arrival> CollectiveDispatcher::poll() {
  if (round_ == nullptr && !nothing_waits()) start_round();
  std::vector<Arrival> arrivals = own_slots_.take();
  if (round_ == nullptr) return arrivals;
  Round& round = *round_;
  const bool sent = std::ranges::all_of(round.requests, [](const auto& request) { return request->test(); });
  receive_gathers(round, arrivals);
  post_gathers(round);
  require(arrivals.size() <= round.missing, "more results than trials in a round");
  round.missing -= arrivals.size();
  if (sent && round.posted == round.header.waves && round.waves.empty() && round.missing == 0) round_.reset();
  return arrivals;
}

/// Takes the oldest trials that fit, and those that train alone after all others, which a death would delay.
/// A group's trial takes a place in the first slot of each of its ranks, so kMostWaves of them always fit.
std::vector<trial::Trial> CollectiveDispatcher::take_for_round() {
  if (waiting_.empty()) {
    std::vector<trial::Trial> alone{std::move(waiting_alone_.front())};
    waiting_alone_.pop_front();
    return alone;
  }
  const std::size_t slots = std::accumulate(ranks_.slots.begin(), ranks_.slots.end(), std::size_t{0});
  std::size_t room = slots * kMostWaves;
  std::size_t groups = 0;
  std::vector<trial::Trial> trials;
  while (!waiting_.empty()) {
    const std::uint32_t members = waiting_.front().members;
    const std::size_t needed = ranks_of_group(members, ranks_for_groups(ranks_));
    if (needed > room || (members > 1 && groups == kMostWaves)) break;
    room -= needed;
    if (members > 1) ++groups;
    trials.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return trials;
}

void CollectiveDispatcher::start_round() {
  const std::vector<trial::Trial> trials = take_for_round();
  std::vector<TrialWork> work;
  for (const trial::Trial& trial : trials) {
    work.push_back({evaluator_.predicted_cost(trial), trial.members});
  }
  const RoundPlan plan = plan_round(work, ranks_, kMostWaves);
  round_ = std::make_unique<Round>();
  Round& round = *round_;
  round.header = {RoundHeader::Command::kRound, fullest_slot(plan, format_.slots, ranks_.slots.size()), 0};
  place(round, trials, plan);
  send_header(round);
  round.requests.push_back(world_.scatter(round.all_trials, round.my_trials, 0));
}

/// With the names of the trials that have become durable since the last one.
void CollectiveDispatcher::send_header(Round& round) {
  for (const trial::TrialName name : results_.take_journalled()) round.journalled.push_back(pack(name));
  round.header.journalled = round.journalled.size();
  round.requests.push_back(world_.broadcast(std::as_writable_bytes(std::span(&round.header, 1)), 0));
  if (round.journalled.empty()) return;
  round.requests.push_back(world_.broadcast(std::as_writable_bytes(std::span(round.journalled)), 0));
}

void CollectiveDispatcher::warn_of_crowd(const GroupPlace& group) {
  const std::size_t processors = ranks_.processors[static_cast<std::size_t>(group.first_rank)];
  if (warned_of_crowd_ || group.members_of(0) <= processors) return;
  warned_of_crowd_ = true;
  log::warning("a group of " + std::to_string(group.members) + " members has " +
               std::to_string(group.members_of(0)) + " on a rank with " + std::to_string(processors) +
               (processors == 1 ? " processor" : " processors") +
               ": right, but slower than alone; start more ranks" +
               (members_key_.empty() ? "" : ", or set " + members_key_ + " lower"));
}

/// Places a trial on all ranks of its group.
void CollectiveDispatcher::place(Round& round, const std::vector<trial::Trial>& trials,
                                 const RoundPlan& plan) {
  const std::size_t record_bytes = format_.trial.bytes();
  const std::size_t waves = round.header.waves;
  round.my_trials.resize(format_.slots * waves * record_bytes);
  round.all_trials.resize(round.my_trials.size() * static_cast<std::size_t>(world_.size()));
  std::vector<std::size_t> next(ranks_.slots.size() * format_.slots, 0);
  for (const std::size_t i : plan.order) {
    const Placement& target = plan.places[i];
    Assignment assignment{trials[i], std::nullopt};
    if (trials[i].members > 1) {
      assignment.group = {++groups_, trials[i].members, static_cast<int>(target.rank),
                          static_cast<int>(target.ranks)};
      warn_of_crowd(*assignment.group);
    }
    for (std::size_t rank = target.rank; rank < target.rank + target.ranks; ++rank) {
      ++round.missing;
      if (rank == 0) {
        own_slots_.submit(target.slot, assignment);
        continue;
      }
      const std::size_t slot = rank * format_.slots + target.slot;
      const std::size_t row = slot * waves + next[slot]++;
      format_.trial.write(assignment, std::span(round.all_trials).subspan(row * record_bytes, record_bytes));
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

/// The stop channel has informed the other ranks: their part of the round ends with its waves.
void CollectiveDispatcher::stop() {
  waiting_.clear();
  waiting_alone_.clear();
  own_slots_.request_stop();
}

void CollectiveDispatcher::finish() {
  require(nothing_waits(), "the run ends with trials that were never sent out");
  while (!idle()) require(poll().empty(), "a result came after the run's end");
  Round end;
  send_header(end);
  for (const auto& request : end.requests) comm::wait(*request);
}

}  // namespace skyline::engine
