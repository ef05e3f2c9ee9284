#include "train/learner/captured_work.hpp"

#include "skyline/core/error.hpp"

#include <array>
#include <utility>

#include <c10/util/Exception.h>

namespace skyline::train {

CapturedWork::CapturedWork(DeviceDataset& context, AcceleratorStream& stream, std::function<void()> work,
                           std::optional<std::int64_t> runs_before_recording, trial::TrialGroup* group)
    : context_(context),
      stream_(stream),
      work_(std::move(work)),
      runs_before_recording_(runs_before_recording),
      group_(group) {}

void CapturedWork::run() {
  if (graph_ == nullptr && runs_before_recording_ && runs_ >= *runs_before_recording_) record();
  stream_.run([this] {
    if (graph_ != nullptr) {
      graph_->replay();
    } else {
      work_();
    }
  });
  ++runs_;
}

void CapturedWork::record() {
  try_to_record();
  if (group_ != nullptr) {
    std::array<double, 1> refusals = {graph_ == nullptr ? 1.0 : 0.0};
    group_->sum(refusals);
    if (refusals[0] > 0) graph_.reset();
  }
  if (graph_ == nullptr) {
    runs_before_recording_.reset();  // it is tried only once
  }
}

void CapturedWork::try_to_record() {
  try {
    graph_ = stream_.capture(work_);
  } catch (const c10::OutOfMemoryError&) {
    // A recording needs the memory a second time. Without recording the work has already run.
  } catch (const UserError& refusal) {
    context_.note_refusal(refusal.what());
  }
}

}  // namespace skyline::train
