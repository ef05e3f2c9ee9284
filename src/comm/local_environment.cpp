#include "skyline/core/processors.hpp"

#include "comm/environments.hpp"
#include "comm/node_place.hpp"

#include <utility>

#include <unistd.h>

namespace skyline::comm {
namespace {

class LocalEnvironment final : public Environment {
 public:
  LocalEnvironment() : world_(make_local_communicator()) {
    place_.host = host_name();
    place_.allowed = allowed_processors();
    place_.processors = place_.allowed;
  }
  Communicator& world() override { return *world_; }
  const NodePlace& place() const override { return place_; }
  void use_processors(std::vector<int> processors) override { place_.processors = std::move(processors); }
  bool threads_may_communicate() const override { return true; }
  std::unique_ptr<Mailbox> make_mailbox() override { return nullptr; }
  std::string describe() const override { return "one process, no MPI"; }
  [[noreturn]] void abort(int exit_code) override {
    flush_streams();
    _exit(exit_code);
  }

 private:
  std::unique_ptr<Communicator> world_;
  NodePlace place_;
};

}  // namespace

std::unique_ptr<Environment> make_local_environment() {
  return std::make_unique<LocalEnvironment>();
}

}  // namespace skyline::comm
