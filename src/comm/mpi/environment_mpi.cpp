#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"

#include "comm/agreement.hpp"
#include "comm/environment.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "comm/mpi/mpi_link.hpp"
#include "comm/mpi/mpi_mailbox.hpp"
#include "comm/mpi/start_watch.hpp"
#include "core/backoff.hpp"
#include "core/log.hpp"
#include "core/system/process.hpp"
#include "core/system/temporary_folder.hpp"
#include "machine/node.hpp"

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <map>
#include <optional>
#include <thread>

#include <mpi.h>
#include <unistd.h>

namespace skyline::comm {
namespace {

constexpr std::chrono::seconds kAbortPatience{5};

/// Returns the affinity mask of each rank of `node`. Collective.
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

/// Finds the place of this rank. Collective.
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
  const std::vector<std::vector<int>> masks = gather_masks(node.get(), place.local_size);
  const std::vector<std::vector<int>> shares = machine::share_processors(masks);
  place.processors = shares[static_cast<std::size_t>(place.local_rank)];
  place.node_allowed = machine::all_processors(masks);
  place.sharing_ranks = machine::count_sharing_ranks(shares);
  return place;
}

/// MPI_Init may end the process if it can keep no files, with many lines that do not name the variable.
void warn_of_temporary_folder(StartWatch& watch) {
  const std::filesystem::path folder = temporary_root();
  const std::string problem = why_not_writable(folder);
  if (problem.empty()) return;
  watch.warn("no file can be written in " + folder.string() + ", where MPI and trainers keep theirs: " +
             problem + " (free some space, or set TMPDIR to another folder of the node)");
}

/// Names the processes that MPI_Init waits for.
std::string describe_init(const Launch& launch) {
  const std::string all = launch.ranks ? "all " + std::to_string(*launch.ranks) + " ranks" : "all ranks";
  const std::string hosts = launch.hosts.empty() ? "" : " on " + machine::host_list(launch.hosts);
  return "in MPI_Init, which waits for " + all + hosts +
         ": a process or a host has not come, or its launcher is cut off (every host that has come says "
         "this)";
}

/// Refuses a library that was not built for the launcher: it takes each process for a job of one.
void check_connected(const Launch& launch) {
  int size = 1;
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  if (size > 1 || launch.ranks.value_or(1) == 1) return;
  throw UserError("the launcher started " + std::to_string(*launch.ranks) + " processes, but " +
                  mpi_library_name() +
                  " takes each of them for a job of one: start with the mpirun of this "
                  "library, or with srun --mpi=pmix");
}

/// Reads a setting of the MPI library, a number or a flag. Returns nullopt if it has none of that name. Needs
/// a session of MPI_T.
std::optional<int> find_setting(const char* name) {
  int index = 0;
  int count = 0;
  int value = 0;  // a flag may be written as one byte
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS ||
      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) != MPI_SUCCESS) {
    return std::nullopt;
  }
  if (count == 1) MPI_T_cvar_read(handle, &value);
  MPI_T_cvar_handle_free(&handle);
  return value;
}

/// Returns whether ranks outlive others. A file of settings of Open MPI 4.1 can say so without any variable,
/// and reading settings takes a fifth of a second, so only one rank asks.
/// @param threads  the level given to MPI_Init_thread; a lower one would change it
/// @throws UserError if a rank could wait for a dead one for ever
bool survivors_live(const Launch& launch, int threads) {
  if (launch.launcher != Launcher::kMpirun) return launch.survivors_live;  // only mpirun has this setting
  int provided = 0;
  if (MPI_T_init_thread(threads, &provided) != MPI_SUCCESS) return launch.survivors_live;
  const bool live = launch.survivors_live || find_setting("orte_enable_recovery").value_or(0) != 0;
  // the settings of a component are known where it is chosen
  const bool has_ob1 = find_setting("pml_ob1_priority").has_value();
  MPI_T_finalize();
  if (!live || has_ob1) return live;
  throw UserError(
      "the launcher lets ranks outlive others (recovery), and MPI's messages do not go by `ob1`, "
      "the only way that gives up on a dead rank: set OMPI_MCA_pml=ob1");
}

/// Returns rank 0's answer on every rank. Collective. @throws UserError on rank 0; the other ranks then end
bool share_survivors_live(MpiCommunicator& world, const Launch& launch, int threads) {
  bool live = false;
  std::string problem;
  if (world.rank() == kCoordinator) {
    try {
      live = survivors_live(launch, threads);
    } catch (const UserError& error) {
      problem = error.what();
    }
  }
  problem = share(world, problem);
  if (problem.empty()) return share(world, live);
  if (world.rank() == kCoordinator) throw UserError(problem);
  flush_streams();
  _exit(kExitUserError);
}

/// Describes the start of this job (describe_start).
/// @param node_of_rank  NodePlace::node of each rank
std::string describe_job(const Launch& launch, const std::vector<int>& node_of_rank,
                         const std::vector<std::string>& hosts) {
  std::vector<NodeRanks> nodes;
  std::map<int, std::size_t> index;  // index of each node; two nodes may share a name
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    const std::size_t at = index.try_emplace(node_of_rank[rank], nodes.size()).first->second;
    if (at == nodes.size()) nodes.push_back({.host = hosts[rank]});
    ++nodes[at].ranks;
  }
  return describe_start(launch, mpi_library_name(), nodes, unix_now_s());
}

class MpiEnvironment final : public Environment {
 public:
  MpiEnvironment(const Launch& launch, const StartOptions& options) : Environment(launch) {
    // Excludes libfabric, where MPI_Isend to a dead rank can run for ever. Called before there are threads.
    constexpr int kKeepOther = 0;
    if (launch.survivors_live) setenv("OMPI_MCA_pml", "ob1", kKeepOther);
    StartWatch watch(options, launch, host_name());
    int threads = MPI_THREAD_SINGLE;
    watch.waits_for(describe_init(launch));
    warn_of_temporary_folder(watch);
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads), "MPI_Init_thread");
    // The error handler is set before the first duplicate, which inherits it. Without it MPI itself would end
    // the program, and checks would do nothing.
    check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    require(threads >= MPI_THREAD_FUNNELED, "this MPI library does not support threads (FUNNELED)");
    check_connected(launch);
    call_roll(host_name(), launch.hosts, watch);
    watch.waits_for(
        "in the first exchange among all ranks, which have all answered rank 0: MPI's connections between "
        "other hosts may be blocked");
    world_ = MpiCommunicator::duplicate(MPI_COMM_WORLD);
    if (world_->size() > 1) launch_.survivors_live = share_survivors_live(*world_, launch, threads);
    place_ = find_place(MPI_COMM_WORLD);
    hosts_ = share(*world_, gather(*world_, place_.host));
    const std::vector<int> nodes = gather(*world_, place_.node);
    description_ = share(*world_, world_->rank() == 0 ? describe_job(launch, nodes, hosts_) : std::string());
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
      wait(*world_->barrier());  // polls, because MPI_Finalize burns a core until the last rank arrives
    } catch (const std::exception& error) {
      log::error(error.what());
    }
    world_.reset();
    MPI_Finalize();
  }

  Communicator& world() override { return *world_; }
  bool threads_may_communicate() const override {
    int threads = MPI_THREAD_SINGLE;
    check_mpi(MPI_Query_thread(&threads), "MPI_Query_thread");
    return threads >= MPI_THREAD_MULTIPLE;
  }
  std::unique_ptr<Mailbox> make_mailbox() override {
    if (world_->size() == 1 || !threads_may_communicate()) return nullptr;
    return MpiMailbox::duplicate(MPI_COMM_WORLD);
  }
  std::unique_ptr<Link> make_link(std::size_t most_bytes) override {
    return world_->size() == 1 ? nullptr : MpiLink::duplicate(MPI_COMM_WORLD, most_bytes);
  }

  [[noreturn]] void abort(int exit_code) override {
    flush_streams();
    if (launch_.survivors_live) _exit(exit_code);  // MPI_Abort ends no other rank then, and was seen to hang
    std::thread([exit_code] {
      std::this_thread::sleep_for(kAbortPatience);
      _exit(exit_code);
    }).detach();
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    _exit(exit_code);
  }

 private:
  std::unique_ptr<MpiCommunicator> world_;
};

}  // namespace

std::string mpi_library_name() {
  // Turns "Open MPI v4.1.4, package: ..." into "Open MPI 4.1.4".
  char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = {};
  int length = 0;
  check_mpi(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
  std::string name(text, static_cast<std::size_t>(length));
  name = name.substr(0, name.find_first_of(",\n"));
  if (const auto version = name.find(" v"); version != std::string::npos) name.erase(version + 1, 1);
  return name;
}

std::unique_ptr<Environment> start_mpi_environment(const Launch& launch, const StartOptions& options) {
  return std::make_unique<MpiEnvironment>(launch, options);
}

}  // namespace skyline::comm
