#include "engine/loop/run.hpp"

#include "skyline/core/random.hpp"

#include "engine/dispatch/collective_dispatcher.hpp"
#include "engine/dispatch/collective_worker.hpp"
#include "engine/dispatch/rank_table.hpp"
#include "engine/dispatch/stop_channel.hpp"
#include "engine/group/group_hub.hpp"
#include "engine/loop/coordinator.hpp"
#include "engine/loop/replay.hpp"
#include "engine/slots/account.hpp"
#include "engine/slots/checkpoints.hpp"
#include "engine/slots/result_keeper.hpp"
#include "engine/slots/slot_pool.hpp"
#include "engine/weights/parent_exchange.hpp"
#include "engine/weights/weights_keeper.hpp"

#include <bit>
#include <chrono>
#include <exception>
#include <memory>
#include <span>

namespace skyline::engine {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// Collective: where the run's clock stands as this job starts, the same on all ranks.
Seconds start_clock(const RunInputs& inputs) {
  comm::Communicator& world = inputs.environment.world();
  double earlier_jobs_s = world.rank() == 0 ? replayed_seconds(inputs) : 0;
  comm::wait(*world.broadcast(std::as_writable_bytes(std::span(&earlier_jobs_s, 1)), 0));
  comm::wait(*world.barrier());  // aligns the ranks' clocks
  return Seconds(earlier_jobs_s);
}

SlotPoolOptions slot_options(const RunInputs& inputs, std::size_t slots, std::size_t metrics,
                             GroupHub& groups, Clock::time_point run_started) {
  SlotPoolOptions options;
  options.rank = inputs.environment.world().rank();
  options.slots = slots;
  options.metrics = metrics;
  options.groups = &groups;
  options.run_started = run_started;
  // A slot of several threads is left to the system: a binding would be inherited by all of them. So are
  // slots that wait for a device most of the time.
  const bool binds = inputs.options.threads_per_slot == 1 && inputs.evaluator.slots() == 0;
  if (binds) options.processors = inputs.environment.place().processors;
  return options;
}

RunResult coordinate(const RunInputs& inputs, RunObserver& observer, const RankTable& ranks,
                     const RoundFormat& format, SlotPool& slots, CheckpointFolder& checkpoints,
                     const std::shared_ptr<ResultKeeper>& results, Clock::time_point started) {
  store::StorageThread& storage = inputs.storage;
  if (inputs.replay) results->take_over(inputs.replay->entries);
  AccountBook accounts(ranks);
  StopChannel stop(inputs.environment.world(), inputs.stop_requested);
  CollectiveDispatcher dispatcher(inputs.environment.world(), format, inputs.evaluator, slots, *results,
                                  ranks);
  RunResult result = Coordinator(inputs, observer, dispatcher, checkpoints, results, stop, accounts).run();
  dispatcher.finish();
  stop.close([&] {
    storage.rethrow_failure();
    observer.tick();
  });
  if (!result.stopped) results->remove_files();
  result.account = accounts.close(Seconds(Clock::now() - started).count());
  return result;
}

/// The other ranks' part. A rank leaves the stop channel when its files are written, and rank 0 waits for it.
RunResult serve(const RunInputs& inputs, const RoundFormat& format, SlotPool& slots, ResultKeeper& results,
                Clock::time_point started) {
  store::StorageThread& storage = inputs.storage;
  StopChannel stop(inputs.environment.world(), inputs.stop_requested);
  serve_rounds(inputs.environment.world(), format, slots, results, [&] {
    storage.rethrow_failure();
    results.look_after();
    if (stop.poll()) slots.request_stop();
  });
  results.look_after();
  storage.drain();
  stop.close([] {});
  RunResult result;
  result.account.wall_s = Seconds(Clock::now() - started).count();
  return result;
}

}  // namespace

RunResult run(const RunInputs& inputs, RunObserver& observer) {
  comm::Communicator& world = inputs.environment.world();
  const std::size_t own = own_slots(inputs);
  const RankTable ranks = exchange_ranks(inputs, own);
  const Seconds earlier = start_clock(inputs);
  const Clock::time_point started = Clock::now();

  const std::size_t metrics = inputs.evaluator.metrics().size();
  const RoundFormat format{TrialRecord(inputs.space), ResultRecord(metrics), ranks.most_slots};
  const Clock::time_point run_started = started - std::chrono::duration_cast<Clock::duration>(earlier);
  const auto checkpoints = std::make_shared<CheckpointFolder>(inputs);
  const auto results = std::make_shared<ResultKeeper>(inputs);
  const std::unique_ptr<GroupHub> groups =
      GroupHub::make(inputs.environment, inputs.evaluator.forms_groups());
  const std::shared_ptr<RecentWeights> recent = make_recent_weights(inputs);
  const std::shared_ptr<ParentExchange> parents =
      recent ? ParentExchange::make(inputs.environment, recent) : nullptr;
  SlotPool slots(slot_options(inputs, own, metrics, *groups, run_started), inputs.evaluator,
                 {make_weights_sink(inputs, recent), make_weights_source(inputs, recent, parents),
                  checkpoints, results});
  try {
    RunResult result =
        world.rank() == 0 ? coordinate(inputs, observer, ranks, format, slots, *checkpoints, results, started)
                          : serve(inputs, format, slots, *results, started);
    groups->close();
    if (parents) parents->close();
    if (inputs.environment.place().local_rank == 0) remove_weights_copies(inputs);
    return result;
  } catch (const std::exception& error) {
    if (inputs.failed) inputs.failed(error);
    throw;
  }
}

store::RunStamp stamp_of(const RunInputs& inputs) {
  return {inputs.header.skyline_version, inputs.header.config_hash};
}

std::uint64_t trial_seed(std::uint64_t run_seed, space::ArchId arch, double epochs) {
  return derive_seed(run_seed, "trial",
                     {static_cast<std::uint64_t>(arch), std::bit_cast<std::uint64_t>(epochs)});
}

}  // namespace skyline::engine
