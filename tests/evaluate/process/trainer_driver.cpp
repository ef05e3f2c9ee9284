// The parent of trainers that a test kills: usage: trainer_driver FOLDER TOKEN. It starts trainers without an
// end, one after the other, each with a child, a daemon in a session of its own, and TOKEN in the
// environment.
#include "evaluate/process/user_program.hpp"

#include <chrono>
#include <filesystem>
#include <list>
#include <string>
#include <thread>

int main(int /*count*/, char** arguments) {
  using namespace skyline::evaluate;
  const std::filesystem::path folder = arguments[1];
  const std::string script =
      "(setsid sh -c 'trap \"\" TERM HUP; sleep 600' &) ; trap '' TERM; sleep 600 & echo ready > ready; "
      "sleep 600";
  std::list<UserProgram> trainers;
  for (int i = 0; i < 3; ++i) {
    const std::string name = std::to_string(i);
    trainers.emplace_back(ProcessPlan{.arguments = {"/bin/sh", "-c", script},
                                      .variables = {{"PATH", "/usr/bin:/bin"}, {"TOKEN", arguments[2]}},
                                      .folder = folder,
                                      .log = folder / (name + ".log"),
                                      .report_file = folder / (name + ".report"),
                                      .limits = {.processes = 100}});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  while (true) {
    for (UserProgram& trainer : trainers) trainer.poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}
