#include "comm/environments.hpp"
#include "core/backoff.hpp"
#include "core/processors.hpp"
#include "machine/node_place.hpp"

#include <string>
#include <utility>

#include <unistd.h>

namespace skyline::comm {
namespace {

class LocalEnvironment final : public Environment {
 public:
  explicit LocalEnvironment(const Launch& launch)
      : launch_(launch),
        description_(describe_start(launch, "", {}, unix_now_s())),
        world_(make_local_communicator()) {
    place_.host = machine::host_name();
    place_.allowed = allowed_processors();
    place_.processors = place_.allowed;
    place_.node_allowed = place_.allowed;
  }
  Communicator& world() override { return *world_; }
  const NodePlace& place() const override { return place_; }
  void use_processors(std::vector<int> processors) override { place_.processors = std::move(processors); }
  bool threads_may_communicate() const override { return true; }
  std::unique_ptr<Mailbox> make_mailbox() override { return nullptr; }
  const Launch& launch() const override { return launch_; }
  std::string describe() const override { return description_; }
  [[noreturn]] void abort(int exit_code) override {
    flush_streams();
    _exit(exit_code);
  }

 private:
  Launch launch_;
  std::string description_;
  std::unique_ptr<Communicator> world_;
  NodePlace place_;
};

}  // namespace

std::unique_ptr<Environment> make_local_environment(const Launch& launch) {
  return std::make_unique<LocalEnvironment>(launch);
}

}  // namespace skyline::comm
