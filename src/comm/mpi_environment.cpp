#include "skyline/core/error.hpp"
#include "skyline/core/log.hpp"
#include "skyline/core/processors.hpp"

#include "comm/check_mpi.hpp"
#include "comm/environments.hpp"
#include "comm/mpi_communicator.hpp"
#include "comm/mpi_mailbox.hpp"
#include "comm/node_place.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include <mpi.h>
#include <unistd.h>

namespace skyline::comm {
namespace {

constexpr std::chrono::seconds kAbortPatience{5};

/// Collective on `node`: the affinity mask of each of its ranks.
std::vector<std::vector<int>> gather_masks(MPI_Comm node, int ranks) {
  std::vector<int> mine = allowed_processors();
  const int count = static_cast<int>(mine.size());
  int longest = 0;
  check_mpi(MPI_Allreduce(&count, &longest, 1, MPI_INT, MPI_MAX, node), "MPI_Allreduce");
  mine.resize(static_cast<std::size_t>(longest), -1);
  std::vector<int> all(static_cast<std::size_t>(longest) * static_cast<std::size_t>(ranks));
  check_mpi(MPI_Allgather(mine.data(), longest, MPI_INT, all.data(), longest, MPI_INT, node),
            "MPI_Allgather");

  std::vector<std::vector<int>> masks(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] >= 0) masks[i / static_cast<std::size_t>(longest)].push_back(all[i]);
  }
  return masks;
}

/// Collective on `world`.
NodePlace find_place(MPI_Comm world) {
  MPI_Comm raw = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &raw), "MPI_Comm_split_type");
  const CommunicatorHandle node(raw);
  NodePlace place;
  place.host = host_name();
  check_mpi(MPI_Comm_rank(node.get(), &place.local_rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(node.get(), &place.local_size), "MPI_Comm_size");
  check_mpi(MPI_Comm_rank(world, &place.node), "MPI_Comm_rank");
  check_mpi(MPI_Bcast(&place.node, 1, MPI_INT, 0, node.get()), "MPI_Bcast");
  const int first_of_node = place.local_rank == 0 ? 1 : 0;
  check_mpi(MPI_Allreduce(&first_of_node, &place.node_count, 1, MPI_INT, MPI_SUM, world), "MPI_Allreduce");
  place.allowed = allowed_processors();
  place.processors = share_processors(
      gather_masks(node.get(), place.local_size))[static_cast<std::size_t>(place.local_rank)];
  return place;
}

/// "Open MPI v4.1.4, package: ..." -> "Open MPI 4.1.4"
std::string library_name() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = {};
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  std::string name(text, static_cast<std::size_t>(length));
  name = name.substr(0, name.find_first_of(",\n"));
  if (const auto version = name.find(" v"); version != std::string::npos) name.erase(version + 1, 1);
  return name;
}

std::string counted(int count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

class MpiEnvironment final : public Environment {
 public:
  explicit MpiEnvironment(std::string launcher) : launcher_(std::move(launcher)) {
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads_), "MPI_Init_thread");
    // Before the first duplicate, which inherits it: else MPI ends the program itself and checks are idle.
    check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    require(threads_ >= MPI_THREAD_FUNNELED, "this MPI library does not support threads (FUNNELED)");
    world_ = MpiCommunicator::duplicate(MPI_COMM_WORLD);
    place_ = find_place(MPI_COMM_WORLD);
  }
  MpiEnvironment(const MpiEnvironment&) = delete;
  MpiEnvironment& operator=(const MpiEnvironment&) = delete;

  ~MpiEnvironment() override {
    // Others may wait for this rank in a collective: MPI_Finalize would then hang. Without it the launcher
    // sees an improper end and stops the job.
    if (std::uncaught_exceptions() > 0) {
      world_->abandon();
      return;
    }
    try {
      wait(*world_->barrier());  // polled, while MPI_Finalize burns a core until the last rank is there
    } catch (const std::exception& error) {
      log::error(error.what());
    }
    world_.reset();
    MPI_Finalize();
  }

  Communicator& world() override { return *world_; }
  const NodePlace& place() const override { return place_; }
  void use_processors(std::vector<int> processors) override { place_.processors = std::move(processors); }
  bool threads_may_communicate() const override { return threads_ >= MPI_THREAD_MULTIPLE; }
  std::unique_ptr<Mailbox> make_mailbox() override {
    if (world_->size() == 1 || !threads_may_communicate()) return nullptr;
    return MpiMailbox::duplicate(MPI_COMM_WORLD);
  }
  std::string describe() const override {
    return launcher_ + " (" + library_name() + "), " + counted(world_->size(), "rank") + " on " +
           counted(place_.node_count, "node");
  }

  [[noreturn]] void abort(int exit_code) override {
    flush_streams();
    // MPI_Abort was seen to hang under a launcher that lets survivors live.
    std::thread([exit_code] {
      std::this_thread::sleep_for(kAbortPatience);
      _exit(exit_code);
    }).detach();
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    _exit(exit_code);
  }

 private:
  std::string launcher_;
  int threads_ = MPI_THREAD_SINGLE;
  std::unique_ptr<MpiCommunicator> world_;
  NodePlace place_;
};

}  // namespace

std::unique_ptr<Environment> start_mpi_environment(const std::string& launcher) {
  return std::make_unique<MpiEnvironment>(launcher);
}

}  // namespace skyline::comm
