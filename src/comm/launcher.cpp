#include "comm/launcher.hpp"

#include "skyline/core/error.hpp"

#include "core/config/config_text.hpp"
#include "core/text/wording.hpp"
#include "machine/node.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>

namespace skyline::comm {
namespace {

constexpr std::size_t kMostHosts = 100'000;  // a longer list is damaged
constexpr std::size_t kMostDigits = 9;

/// Reads variables and checks their form. A variable with another form counts as not set.
class Variables {
 public:
  explicit Variables(const VariableLookup& lookup) : lookup_(lookup) {}
  bool has(const char* name) const { return lookup_(name).has_value(); }
  std::string text(const char* name) const { return lookup_(name).value_or(""); }
  /// Reads a switch as Open MPI does: a number other than 0, or a word in small letters.
  bool is_on(const char* name) const {
    constexpr std::array kWords{"true", "t", "yes", "y", "enabled"};
    std::string word = text(name);
    word.erase(0, std::min(word.find_first_not_of(" \t"), word.size()));
    if (const auto number = parse_integer(word)) return *number != 0;
    return std::ranges::find(kWords, word) != kWords.end();
  }
  std::optional<int> count(const char* name) const {
    const auto number = parse_integer(text(name));
    if (!number || *number < 0 || *number > INT32_MAX) return std::nullopt;
    return static_cast<int>(*number);
  }

 private:
  const VariableLookup& lookup_;
};

/// Refuses a start by srun without a plugin of MPI: its processes do not know each other.
void refuse_unconnected(const Variables& from) {
  const std::optional<int> processes = from.count("SLURM_STEP_NUM_TASKS");
  if (!from.has("SLURM_PROCID") || processes.value_or(1) < 2) return;
  throw UserError(
      "srun started " + std::to_string(*processes) +
      " processes without MPI, which would each search alone: use srun --mpi=pmix, or mpirun (or env -u "
      "SLURM_STEP_NUM_TASKS, if each is to have a run folder of its own)");
}

void read_launcher(const Variables& from, Launch& launch) {
  if (from.has("OMPI_COMM_WORLD_SIZE")) {
    launch.launcher = Launcher::kMpirun;
    launch.rank = from.count("OMPI_COMM_WORLD_RANK");
    launch.ranks = from.count("OMPI_COMM_WORLD_SIZE");
    // mpirun --enable-recovery in Open MPI 4.1, --with-ft in Open MPI 5
    launch.survivors_live =
        from.is_on("OMPI_MCA_orte_enable_recovery") || from.is_on("OMPI_MCA_mpi_ft_enable");
  } else if (from.has("PMIX_RANK") || from.has("PMI_RANK") || from.has("PMI_SIZE")) {
    const bool by_srun = from.has("SLURM_PROCID");
    launch.launcher = by_srun ? Launcher::kSrun : Launcher::kOther;
    launch.rank = from.count(from.has("PMIX_RANK") ? "PMIX_RANK" : "PMI_RANK");
    launch.ranks = from.count(by_srun ? "SLURM_STEP_NUM_TASKS" : "PMI_SIZE");
  } else {
    refuse_unconnected(from);
  }
  launch.group = from.text("PMIX_NAMESPACE");
}

void read_slurm(const Variables& from, Launch& launch) {
  launch.batch = BatchSystem::kSlurm;
  launch.job = from.text(from.has("SLURM_ARRAY_JOB_ID") ? "SLURM_ARRAY_JOB_ID" : "SLURM_JOB_ID");
  launch.task = from.text("SLURM_ARRAY_TASK_ID");
  launch.restarts = from.count("SLURM_RESTART_COUNT").value_or(0);
  launch.nodes = from.count("SLURM_JOB_NUM_NODES");
  // mpirun starts its daemons on the other nodes as a separate step, which lacks its own node.
  const bool by_srun = launch.launcher == Launcher::kSrun;
  launch.hosts = expand_host_list(from.text(by_srun ? "SLURM_STEP_NODELIST" : "SLURM_JOB_NODELIST"));
}

void read_azure(const Variables& from, Launch& launch) {
  launch.batch = BatchSystem::kAzureMl;
  launch.job = from.text("AZUREML_RUN_ID");
  launch.nodes = from.count("AZUREML_NODE_COUNT");
}

void read_batch_system(const Variables& from, Launch& launch) {
  if (from.has("SLURM_JOB_ID")) {
    read_slurm(from, launch);
  } else if (from.has("AZUREML_RUN_ID") || from.has("AZ_BATCH_POOL_ID") || from.has("AZ_BATCH_MASTER_NODE") ||
             from.has("AZ_BATCHAI_MPI_MASTER_NODE")) {
    read_azure(from, launch);
  } else if (from.has("PBS_JOBID")) {
    launch.batch = BatchSystem::kPbs;
    launch.job = from.text("PBS_JOBID");
    launch.task = from.text(from.has("PBS_ARRAY_INDEX") ? "PBS_ARRAY_INDEX" : "PBS_ARRAYID");
    launch.nodes = from.count("PBS_NUM_NODES");
  } else if (from.has("LSB_JOBID")) {
    launch.batch = BatchSystem::kLsf;
    launch.job = from.text("LSB_JOBID");
    const std::string task = from.text("LSB_JOBINDEX");
    if (task != "0") launch.task = task;  // 0 means that the job is not an array
  }
}

/// Turns "01-03,7" into 01, 02, 03, 7. Returns nullopt if the text has another form.
std::optional<std::vector<std::string>> expand_numbers(std::string_view list) {
  std::vector<std::string> numbers;
  while (true) {
    const std::string_view part = list.substr(0, list.find(','));
    const std::string_view first = part.substr(0, part.find('-'));
    const std::string_view last = part.substr(first.size() == part.size() ? 0 : first.size() + 1);
    const auto from = parse_integer(first);
    const auto to = parse_integer(last);
    if (!from || !to || *from < 0 || *to < *from || first.size() > kMostDigits || last.size() > kMostDigits ||
        static_cast<std::size_t>(*to - *from) >= kMostHosts) {
      return std::nullopt;
    }
    for (std::int64_t number = *from; number <= *to; ++number) {
      std::string digits = std::to_string(number);
      if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
      numbers.push_back(std::move(digits));
    }
    if (part.size() == list.size()) return numbers;
    list.remove_prefix(part.size() + 1);
  }
}

/// Expands a name with brackets. Returns nullopt if they are damaged.
std::optional<std::vector<std::string>> expand_name(std::string_view name) {
  const std::size_t open = name.find('[');
  if (open == std::string_view::npos) return std::vector<std::string>{std::string(name)};
  const std::size_t close = name.find(']', open);
  if (close == std::string_view::npos) return std::nullopt;
  const auto numbers = expand_numbers(name.substr(open + 1, close - open - 1));
  const auto ends = expand_name(name.substr(close + 1));
  if (!numbers || !ends || numbers->size() * ends->size() > kMostHosts) return std::nullopt;
  std::vector<std::string> names;
  for (const std::string& number : *numbers) {
    for (const std::string& end : *ends) names.push_back(std::string(name.substr(0, open)) + number + end);
  }
  return names;
}

/// Returns the length of the first name of a list. Brackets in a name may contain commas.
std::size_t name_length(std::string_view list) {
  bool inside = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '[') inside = true;
    if (list[i] == ']') inside = false;
    if (list[i] == ',' && !inside) return i;
  }
  return list.size();
}

std::string launcher_name(Launcher launcher) {
  if (launcher == Launcher::kMpirun) return "mpirun";
  return launcher == Launcher::kSrun ? "srun" : "an MPI launcher";
}

std::string batch_name(BatchSystem batch) {
  constexpr std::array kNames{"", "Slurm job", "Azure ML run", "PBS job", "LSF job"};
  return kNames.at(static_cast<std::size_t>(batch));
}

/// Returns e.g. "Slurm job 812 (task 3, restart 1)", or an empty text without a batch system.
std::string job_text(const Launch& launch) {
  std::string text = batch_name(launch.batch);
  if (!launch.job.empty()) text += " " + launch.job;
  std::string more = launch.task.empty() ? "" : "task " + launch.task;
  if (launch.restarts > 0)
    more += (more.empty() ? "" : ", ") + ("restart " + std::to_string(launch.restarts));
  return more.empty() ? text : text + " (" + more + ")";
}

/// Returns e.g. "8 a node, but 4 on node09": the count of most nodes, and the nodes with another count.
std::string ranks_a_node(const std::vector<NodeRanks>& nodes) {
  std::map<int, int> nodes_with;
  for (const NodeRanks& node : nodes) ++nodes_with[node.ranks];
  const int usual =
      std::ranges::max_element(nodes_with, {}, [](const auto& entry) { return entry.second; })->first;
  std::map<int, std::vector<std::string>> others;
  for (const NodeRanks& node : nodes) {
    if (node.ranks != usual) others[node.ranks].push_back(node.host);
  }
  std::string text = std::to_string(usual) + " a node";
  for (const auto& [ranks, hosts] : others) {
    text += (ranks == others.begin()->first ? ", but " : " and ") + std::to_string(ranks) + " on " +
            machine::host_list(hosts);
  }
  return text;
}

/// Returns the name without its domain, because not all sources give it.
std::string short_name(const std::string& host) {
  return host.substr(0, host.find('.'));
}

/// Returns e.g. "16 ranks on 2 nodes (node07, node08), 8 a node".
std::string ranks_text(const Launch& launch, const std::vector<NodeRanks>& nodes) {
  int ranks = 0;
  std::vector<std::string> hosts;
  for (const NodeRanks& node : nodes) {
    ranks += node.ranks;
    hosts.push_back(node.host);
  }
  const int count = static_cast<int>(nodes.size());
  const bool leaves_nodes = launch.nodes.value_or(0) > count;
  const auto idle = leaves_nodes ? hosts_without(launch.hosts, hosts) : std::vector<std::string>();
  std::string text = counted(ranks, "rank") + " on " +
                     (leaves_nodes ? std::to_string(count) + " of the job's " + counted(*launch.nodes, "node")
                                   : counted(count, "node")) +
                     " (" + machine::host_list(hosts) +
                     (idle.empty() ? "" : "; none on " + machine::host_list(idle)) + ")";
  return count == 1 ? text : text + ", " + ranks_a_node(nodes);
}

/// Returns a duration as Slurm writes it: "1-03:59:10".
std::string time_text(double seconds) {
  const long whole = std::lround(seconds);
  const long hours = whole / 3600;
  std::array<char, 64> text{};
  if (hours >= 24) {
    std::snprintf(text.data(), text.size(), "%ld-%02ld:%02ld:%02ld", hours / 24, hours % 24, whole / 60 % 60,
                  whole % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%ld:%02ld:%02ld", hours, whole / 60 % 60, whole % 60);
  }
  return text.data();
}

}  // namespace

Launch read_launch(const VariableLookup& variable) {
  const Variables from(variable);
  Launch launch;
  read_launcher(from, launch);
  read_batch_system(from, launch);
  launch.job_end = variable("SLURM_JOB_END_TIME");
  return launch;
}

std::optional<int> rank_in_group(const VariableLookup& variable, const std::string& group) {
  const Variables from(variable);
  return group.empty() || from.text("PMIX_NAMESPACE") != group ? std::nullopt : from.count("PMIX_RANK");
}

std::optional<double> seconds_left(const Launch& launch, double unix_now_s) {
  if (!launch.job_end) return std::nullopt;
  const std::optional<double> end = parse_number(*launch.job_end);
  return end && *end > unix_now_s ? std::optional(*end - unix_now_s) : std::nullopt;
}

std::vector<std::string> expand_host_list(std::string_view list) {
  std::vector<std::string> hosts;
  while (!list.empty()) {
    const std::size_t length = name_length(list);
    const auto names = expand_name(list.substr(0, length));
    if (length == 0 || !names || hosts.size() + names->size() > kMostHosts) return {};
    hosts.insert(hosts.end(), names->begin(), names->end());
    list.remove_prefix(std::min(length + 1, list.size()));
  }
  return hosts;
}

std::vector<std::string> hosts_without(const std::vector<std::string>& job_hosts,
                                       const std::vector<std::string>& hosts) {
  std::set<std::string> known;
  for (const std::string& host : hosts) known.insert(short_name(host));
  std::vector<std::string> others;
  std::ranges::copy_if(job_hosts, std::back_inserter(others),
                       [&](const std::string& host) { return !known.contains(short_name(host)); });
  return others;
}

std::string describe_start(const Launch& launch, const std::string& library,
                           const std::vector<NodeRanks>& nodes, double unix_now_s) {
  std::string text = job_text(launch);
  if (library.empty()) {
    text += (text.empty() ? "" : ": ") + std::string("one process, no MPI");
  } else {
    text += (text.empty() ? "" : " by ") + launcher_name(launch.launcher) + ", " + library + ": " +
            ranks_text(launch, nodes);
  }
  const std::optional<double> left_s = seconds_left(launch, unix_now_s);
  if (left_s) return text + "; " + time_text(*left_s) + " left";
  return launch.batch == BatchSystem::kNone ? text : text + "; time left unknown";
}

}  // namespace skyline::comm
