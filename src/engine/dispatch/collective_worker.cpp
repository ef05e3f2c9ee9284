#include "skyline/core/error.hpp"

#include "core/backoff.hpp"
#include "engine/dispatch/collective_dispatcher.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace skyline::engine {
namespace {

class Worker {
 public:
  Worker(comm::Communicator& world, const RoundFormat& format, SlotPool& own_slots, ResultKeeper& results,
         const std::function<void()>& check)
      : world_(world), format_(format), own_slots_(own_slots), results_(results), check_(check) {}

  void serve() {
    for (RoundHeader header = receive_header(); header.command == RoundHeader::Command::kRound;
         header = receive_header()) {
      const std::size_t trials = receive_trials(header.waves);
      send_results(header.waves, trials);
    }
  }

 private:
  struct Wave {
    std::vector<std::byte> mine;
    std::unique_ptr<comm::Request> request;
  };

  void await(comm::Request& request) {
    for (Backoff backoff; !request.test(); backoff.pause()) check_();
  }

  RoundHeader receive_header() {
    RoundHeader header;
    await(*world_.broadcast(std::as_writable_bytes(std::span(&header, 1)), 0));
    std::vector<std::uint64_t> packed(header.journalled);
    if (!packed.empty()) await(*world_.broadcast(std::as_writable_bytes(std::span(packed)), 0));
    std::vector<trial::TrialName> names;
    for (const std::uint64_t name : packed) names.push_back(unpack_name(name));
    results_.journalled(names);
    return header;
  }

  /// Hands the trials of a round to the slots; returns how many.
  std::size_t receive_trials(std::size_t waves) {
    const std::size_t record_bytes = format_.trial.bytes();
    std::vector<std::byte> records(format_.slots * waves * record_bytes);
    await(*world_.scatter({}, records, 0));
    std::size_t count = 0;
    for (std::size_t row = 0; row < format_.slots * waves; ++row) {
      auto assignment = format_.trial.read(std::span(records).subspan(row * record_bytes, record_bytes));
      if (!assignment) continue;
      own_slots_.submit(row / waves, std::move(*assignment));
      ++count;
    }
    return count;
  }

  /// Wave w of W goes out when the share (w + 1) / W of the trials is done, rounded down: a straggler holds
  /// back no result that is here, and no wave has more results than the rank has slots.
  void send_results(std::size_t waves, std::size_t trials) {
    std::deque<Wave> open;
    std::vector<Arrival> ready;
    std::size_t done = 0;
    std::size_t posted = 0;
    Backoff backoff;
    while (posted < waves || !open.empty()) {
      check_();
      std::vector<Arrival> arrivals = own_slots_.take();
      done += arrivals.size();
      std::ranges::move(arrivals, std::back_inserter(ready));
      bool worked = !arrivals.empty();
      for (; posted < waves && done >= trials * (posted + 1) / waves; ++posted) {
        open.push_back(post_wave(ready));
        worked = true;
      }
      while (!open.empty() && open.front().request->test()) open.pop_front();
      if (worked) backoff.reset();
      backoff.pause();
    }
    require(done == trials && ready.empty(), "results are left at the end of a round");
  }

  Wave post_wave(std::vector<Arrival>& ready) {
    const std::size_t record_bytes = format_.result.bytes();
    Wave wave;
    wave.mine.resize(format_.slots * record_bytes);
    const std::size_t count = std::min(ready.size(), format_.slots);
    for (std::size_t i = 0; i < count; ++i) {
      format_.result.write(ready[i], std::span(wave.mine).subspan(i * record_bytes, record_bytes));
    }
    ready.erase(ready.begin(), ready.begin() + static_cast<std::ptrdiff_t>(count));
    wave.request = world_.gather(wave.mine, {}, 0);
    return wave;
  }

  comm::Communicator& world_;
  const RoundFormat& format_;
  SlotPool& own_slots_;
  ResultKeeper& results_;
  const std::function<void()>& check_;
};

}  // namespace

void serve_rounds(comm::Communicator& world, const RoundFormat& format, SlotPool& own_slots,
                  ResultKeeper& results, const std::function<void()>& check) {
  Worker(world, format, own_slots, results, check).serve();
}

}  // namespace skyline::engine
