#include "train/repeated_work.hpp"

#include "skyline/core/error.hpp"

#include <utility>

namespace skyline::train {

RepeatedWork::RepeatedWork(DeviceContext& context, AcceleratorStream& stream, std::function<void()> work,
                           std::optional<std::int64_t> runs_before_recording)
    : context_(context),
      stream_(stream),
      work_(std::move(work)),
      runs_before_recording_(runs_before_recording) {}

void RepeatedWork::run() {
  if (graph_ == nullptr && runs_before_recording_ && runs_ >= *runs_before_recording_ &&
      context_.may_record()) {
    record();
  }
  stream_.run([this] {
    if (graph_ != nullptr) {
      graph_->replay();
    } else {
      work_();
    }
  });
  ++runs_;
}

void RepeatedWork::record() {
  try {
    graph_ = stream_.capture(work_);
  } catch (const UserError& refusal) {
    context_.stop_recording(refusal.what());
  }
}

}  // namespace skyline::train
