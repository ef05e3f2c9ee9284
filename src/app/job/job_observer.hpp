#pragma once

#include "engine/loop/run.hpp"
#include "report/report.hpp"
#include "report/tracking/tracking.hpp"
#include "store/run_folder/run_folder.hpp"

#include <memory>

namespace skyline::app {

/// Passes on what rank 0's main loop tells. A claim on the run folder that is lost is an error of the next
/// tick.
class JobObserver final : public engine::RunObserver {
 public:
  JobObserver(std::unique_ptr<report::RunProgress> progress, report::RunTracking& tracking,
              const store::RunClaim& claim);

  void started(const std::vector<engine::SlotAccount>& slots, std::size_t replayed,
               std::size_t expected) override;
  void committed(const trial::CommittedTrial& trial, bool on_front, std::size_t in_flight) override;
  void phase_changed(trial::Phase phase, std::size_t expected) override;
  void stopping() override;
  void tick() override;

  void ended(report::RunEnd end) { progress_->ended(end); }
  /// Upper bound of the search's trials.
  std::size_t expected() const { return expected_; }

 private:
  std::unique_ptr<report::RunProgress> progress_;
  report::RunTracking& tracking_;
  const store::RunClaim& claim_;
  std::size_t expected_ = 0;
};

}  // namespace skyline::app
