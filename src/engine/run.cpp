#include "skyline/engine/run.hpp"

#include "skyline/core/random.hpp"
#include "skyline/store/storage_thread.hpp"

#include "engine/account.hpp"
#include "engine/collective_dispatcher.hpp"
#include "engine/collective_worker.hpp"
#include "engine/coordinator.hpp"
#include "engine/rank_table.hpp"
#include "engine/slot_pool.hpp"
#include "engine/weights_keeper.hpp"

#include <bit>
#include <chrono>
#include <exception>

namespace skyline::engine {
namespace {

using Clock = std::chrono::steady_clock;

SlotPoolOptions slot_options(const RunInputs& inputs, std::size_t slots, std::size_t metrics,
                             Clock::time_point started) {
  SlotPoolOptions options;
  options.rank = inputs.environment.world().rank();
  options.slots = slots;
  options.metrics = metrics;
  options.run_started = started;
  // A slot of several threads is left to the system: a binding would be inherited by all of them.
  if (inputs.options.threads_per_slot == 1) options.processors = inputs.environment.place().processors;
  return options;
}

RunResult coordinate(const RunInputs& inputs, RunObserver& observer, const RankTable& ranks,
                     const RoundFormat& format, SlotPool& slots, store::StorageThread& storage,
                     Clock::time_point started) {
  AccountBook accounts(ranks);
  CollectiveDispatcher dispatcher(inputs.environment.world(), format, inputs.evaluator, slots, ranks.slots);
  RunResult result = Coordinator(inputs, observer, dispatcher, storage, accounts).run();
  dispatcher.finish();
  result.account = accounts.close(std::chrono::duration<double>(Clock::now() - started).count());
  return result;
}

}  // namespace

RunResult run(const RunInputs& inputs, RunObserver& observer) {
  comm::Communicator& world = inputs.environment.world();
  const std::size_t own = own_slots(inputs);
  const RankTable ranks = exchange_ranks(inputs, own);
  comm::wait(*world.barrier());  // aligns the ranks' clocks
  const Clock::time_point started = Clock::now();

  const std::size_t metrics = inputs.evaluator.metrics().size();
  const RoundFormat format{TrialRecord(inputs.space), ResultRecord(metrics), ranks.most_slots};
  store::StorageThread& storage = inputs.storage;
  SlotPool slots(slot_options(inputs, own, metrics, started), inputs.evaluator,
                 make_weights_sink(inputs, storage));
  try {
    if (world.rank() == 0) return coordinate(inputs, observer, ranks, format, slots, storage, started);
    serve_rounds(world, format, slots, [&storage] { storage.rethrow_failure(); });
    storage.drain();
    RunResult result;
    result.account.wall_s = std::chrono::duration<double>(Clock::now() - started).count();
    return result;
  } catch (const std::exception& error) {
    if (inputs.failed) inputs.failed(error);
    throw;
  }
}

std::uint64_t trial_seed(std::uint64_t run_seed, space::ArchId arch, double epochs) {
  return derive_seed(run_seed, "trial",
                     {static_cast<std::uint64_t>(arch), std::bit_cast<std::uint64_t>(epochs)});
}

}  // namespace skyline::engine
