#include "skyline/core/error.hpp"

#include "engine/engine_rig.hpp"

#include <chrono>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>

/// Rank 1 cannot write its weights: its run ends with an error, and it ends the others as the application
/// does.
int main() {
  using namespace skyline;
  const auto environment = comm::Environment::start();
  const int rank = environment->world().rank();
  try {
    const engine::TemporaryFolder own_folder;
    engine::RunSpec spec = engine::evolution_spec();
    spec.options.keep_weights = engine::KeepWeights::kAll;
    // Rank 1 alone sees a folder without weights/; trials of the others take far longer than the test may.
    spec.hook = [rank](const objective::Trial&) {
      std::this_thread::sleep_for(rank == 1 ? std::chrono::seconds(0) : std::chrono::seconds(300));
    };
    engine::run_in(*environment, own_folder.path(), spec);
  } catch (const UserError& error) {
    std::cerr << "[rank " << rank << "] " << error.what() << std::endl;
    environment->abort(2);
  }
  return 0;
}
