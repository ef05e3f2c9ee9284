#include "engine/fixtures/engine_rig.hpp"

#include <chrono>
#include <iostream>
#include <string>
#include <thread>

/// The rank that the first argument names cannot write its weights: it ends the others, as the application
/// does, although its own second slot is in the middle of a trial.
int main(int, char** arguments) {
  using namespace skyline;
  const auto environment = comm::Environment::start();
  const int rank = environment->world().rank();
  const bool fails = rank == std::stoi(arguments[1]);
  std::atomic<int> begun{0};
  {
    const engine::ScratchFolder own_folder;
    engine::RunSpec spec = engine::evolution_spec();
    spec.options.keep_weights = engine::KeepWeights::kAll;
    spec.options.slots = 2;
    const std::filesystem::path weights = store::RunPaths{own_folder.path()}.weights_folder();
    // All trials but one take far longer than the test may.
    spec.hook = [&](const trial::Trial&) {
      if (!fails || ++begun > 1) std::this_thread::sleep_for(std::chrono::seconds(300));
      std::filesystem::remove_all(weights);
    };
    spec.failed = [&](const std::exception& error) {
      // One write, or the lines of others may come between its parts.
      std::cerr << "[rank " + std::to_string(rank) + "] " + error.what() + "\n";
      environment->abort(2);
    };
    engine::run_in(*environment, own_folder.path(), spec);
  }
  return 0;
}
