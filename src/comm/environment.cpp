#include "comm/environment.hpp"

#include "skyline/core/error.hpp"

#include "core/backoff.hpp"
#include "core/system/process.hpp"
#include "machine/node.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include <unistd.h>

namespace skyline::comm {
namespace {

class LocalEnvironment final : public Environment {
 public:
  explicit LocalEnvironment(const Launch& launch) : Environment(launch), world_(make_local_communicator()) {
    description_ = describe_start(launch, "", {}, unix_now_s());
    place_.host = host_name();
    hosts_ = {place_.host};
    place_.allowed = allowed_processors();
    place_.processors = place_.allowed;
    place_.node_allowed = place_.allowed;
  }
  Communicator& world() override { return *world_; }
  bool threads_may_communicate() const override { return true; }
  std::unique_ptr<Mailbox> make_mailbox() override { return nullptr; }
  std::unique_ptr<Link> make_link(std::size_t /*most_bytes*/) override { return nullptr; }
  [[noreturn]] void abort(int exit_code) override {
    flush_streams();
    _exit(exit_code);
  }

 private:
  std::unique_ptr<Communicator> world_;
};

class CompletedRequest final : public Request {
 public:
  bool test() override { return true; }
};

/// The communicator of a single process: rank 0 of 1. Every operation is a copy that is complete at once.
class LocalCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::unique_ptr<Request> broadcast(std::span<std::byte>, int root) override {
    require(root == 0, "broadcast: the root is not a rank of the communicator");
    return std::make_unique<CompletedRequest>();
  }
  std::unique_ptr<Request> scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                                   int root) override {
    return copy(all, mine, root);
  }
  std::unique_ptr<Request> gather(std::span<const std::byte> mine, std::span<std::byte> all,
                                  int root) override {
    return copy(mine, all, root);
  }
  std::unique_ptr<Request> barrier() override { return std::make_unique<CompletedRequest>(); }
  std::unique_ptr<Request> send(std::span<const std::byte>, int) override {
    throw InternalError("send: there is no other rank");
  }
  std::unique_ptr<Request> receive(std::span<std::byte>, int) override {
    throw InternalError("receive: there is no other rank");
  }

 private:
  static std::unique_ptr<Request> copy(std::span<const std::byte> from, std::span<std::byte> to, int root) {
    require(root == 0, "the root is not a rank of the communicator");
    require(from.size() == to.size(), "the root's buffer is not [size x bytes of a rank]");
    std::ranges::copy(from, to.begin());
    return std::make_unique<CompletedRequest>();
  }
};

}  // namespace

std::unique_ptr<Environment> Environment::start(const StartOptions& options) {
  const Launch launch = read_launch(process_variable);
  return launch.launcher == Launcher::kNone ? make_local_environment(launch)
                                            : start_mpi_environment(launch, options);
}

void flush_streams() {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
}

std::unique_ptr<Environment> make_local_environment(const Launch& launch) {
  return std::make_unique<LocalEnvironment>(launch);
}

std::unique_ptr<Communicator> make_local_communicator() {
  return std::make_unique<LocalCommunicator>();
}

}  // namespace skyline::comm
