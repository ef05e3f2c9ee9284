#include "app/tuner/program_counter.hpp"

#include "skyline/core/error.hpp"

#include "app/tuner/asked_program.hpp"
#include "app/tuner/cost_lines.hpp"
#include "app/tuner/tuner_lines.hpp"
#include "core/backoff.hpp"
#include "store/journal/counted_costs.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace skyline::app {
namespace {

constexpr std::chrono::microseconds kFirstPause{50};
constexpr std::chrono::milliseconds kLongestPause{10};

class ProgramCounter final : public search::CostCounter {
 public:
  ProgramCounter(const CostsOptions& options, const space::SearchSpace& space, const store::RunPaths& paths)
      : options_(options), space_(space), paths_(paths) {}

  std::vector<std::vector<double>> count(
      std::span<const std::shared_ptr<const space::Architecture>> architectures) override {
    if (!known_) known_ = store::read_counted_costs(paths_, options_.metrics.size());
    std::vector<const space::Architecture*> unknown;
    for (const auto& each : architectures) {
      if (!known_->contains(each->id)) unknown.push_back(each.get());
    }
    if (!unknown.empty()) ask(unknown);
    std::vector<std::vector<double>> counted;
    for (const auto& each : architectures) counted.push_back(known_->at(each->id));
    return counted;
  }

  void stop() override { is_stopped_ = true; }

 private:
  void ask(const std::vector<const space::Architecture*>& unknown) {
    if (!program_) {
      program_.emplace(Asking{.run = options_.run,
                              .variable = "SKYLINE_COSTS_FD",
                              .log = paths_.costs_log(),
                              .subject = "costs.run: the program",
                              .timeout_key = "costs.timeout",
                              .timeout_s = options_.timeout_s});
    }
    std::vector<space::Genotype> genotypes;
    for (const space::Architecture* each : unknown) genotypes.push_back(each->genotype);
    program_->send(count_line(genotypes, space_), true);
    const std::vector<std::vector<double>> costs = read_costs(answer(), genotypes, space_, options_.metrics);
    std::vector<std::pair<space::ArchId, std::vector<double>>> answers;
    for (std::size_t i = 0; i < unknown.size(); ++i) answers.emplace_back(unknown[i]->id, costs[i]);
    store::append_counted_costs(paths_, answers);
    known_->insert(answers.begin(), answers.end());
  }

  std::string answer() {
    Backoff pause(kFirstPause, kLongestPause);
    while (!is_stopped_) {
      if (std::optional<std::string> line = program_->receive()) return *std::move(line);
      pause.pause();
    }
    throw Stopped();
  }

  const CostsOptions options_;
  const space::SearchSpace space_;
  const store::RunPaths paths_;
  std::optional<store::CountedCosts> known_;
  std::optional<AskedProgram> program_;
  std::atomic<bool> is_stopped_ = false;
};

}  // namespace

std::shared_ptr<search::CostCounter> make_counter(const CostsOptions& options,
                                                  const space::SearchSpace& space,
                                                  const store::RunPaths& paths) {
  return std::make_shared<ProgramCounter>(options, space, paths);
}

}  // namespace skyline::app
