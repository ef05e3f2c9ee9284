#include "skyline/core/error.hpp"

#include "comm/environment.hpp"

#include <algorithm>

namespace skyline::comm {
namespace {

class CompletedRequest final : public Request {
 public:
  bool test() override { return true; }
};

/// The one-process stand-in: rank 0 of 1; every operation is a copy and complete at once.
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

std::unique_ptr<Communicator> make_local_communicator() {
  return std::make_unique<LocalCommunicator>();
}

}  // namespace skyline::comm
