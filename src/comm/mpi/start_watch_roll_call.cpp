#include "comm/mpi/mpi_communicator.hpp"
#include "comm/mpi/start_watch.hpp"
#include "core/backoff.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>

namespace skyline::comm {
namespace {

constexpr int kRollCallTag = 1;
constexpr double kTell_s = 0.1;  // pause between texts with the missing ranks, which are long in large jobs
using NameText = std::array<char, 256>;

void wait_all(std::vector<MPI_Request>& requests) {
  Backoff backoff;
  for (int done = 0; done == 0;) {
    check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    if (done == 0) backoff.pause();
  }
}

/// Does rank 0's part; returns when all ranks have answered.
void hear_all(int ranks, std::vector<std::string> hosts, const std::vector<std::string>& job_hosts,
              StartWatch& watch) {
  const auto others = static_cast<std::size_t>(ranks) - 1;
  std::vector<NameText> texts(others);
  std::vector<MPI_Request> requests(others);
  for (std::size_t i = 0; i < others; ++i) {
    check_mpi(MPI_Irecv(texts[i].data(), static_cast<int>(texts[i].size()), MPI_CHAR, static_cast<int>(i) + 1,
                        kRollCallTag, MPI_COMM_WORLD, &requests[i]),
              "MPI_Irecv");
  }
  std::vector<int> done(others);
  Backoff backoff;
  std::optional<std::chrono::steady_clock::time_point> told;
  bool news = true;  // a rank has answered since the missing ones were named
  for (std::size_t heard = 0; heard < others;) {
    int count = 0;
    check_mpi(
        MPI_Testsome(static_cast<int>(others), requests.data(), &count, done.data(), MPI_STATUSES_IGNORE),
        "MPI_Testsome");
    if (count == 0) {
      if (news && (!told || seconds_since(*told) > kTell_s)) {
        watch.knows(describe_missing(hosts, job_hosts));
        told = std::chrono::steady_clock::now();
        news = false;
      }
      backoff.pause();
      continue;
    }
    backoff.reset();
    news = true;
    for (int i = 0; i < count; ++i) {
      const auto index = static_cast<std::size_t>(done[static_cast<std::size_t>(i)]);
      hosts[index + 1] = texts[index].data();
    }
    heard += static_cast<std::size_t>(count);
  }
}

void let_go(int ranks) {
  const char go = 1;
  std::vector<MPI_Request> requests(static_cast<std::size_t>(ranks) - 1);
  for (int rank = 1; rank < ranks; ++rank) {
    check_mpi(MPI_Isend(&go, 1, MPI_CHAR, rank, kRollCallTag, MPI_COMM_WORLD,
                        &requests[static_cast<std::size_t>(rank) - 1]),
              "MPI_Isend");
  }
  wait_all(requests);
}

void answer(const std::string& host, StartWatch& watch) {
  watch.waits_for(
      "no word over MPI from rank 0: it waits for other ranks and names them, or MPI's connections to its "
      "host are blocked");
  NameText text{};
  host.copy(text.data(), text.size() - 1);
  char go = 0;
  std::vector<MPI_Request> requests(2);
  check_mpi(MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, kRollCallTag, MPI_COMM_WORLD,
                      &requests[0]),
            "MPI_Isend");
  check_mpi(MPI_Irecv(&go, 1, MPI_CHAR, 0, kRollCallTag, MPI_COMM_WORLD, &requests[1]), "MPI_Irecv");
  wait_all(requests);
}

}  // namespace

void call_roll(const std::string& host, const std::vector<std::string>& job_hosts, StartWatch& watch) {
  int rank = 0;
  int ranks = 1;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &ranks), "MPI_Comm_size");
  if (rank != 0) return answer(host, watch);
  if (ranks == 1) return;
  std::vector<std::string> hosts(static_cast<std::size_t>(ranks));
  hosts.front() = host;
  hear_all(ranks, std::move(hosts), job_hosts, watch);
  let_go(ranks);
}

}  // namespace skyline::comm
