#include "report/tracking/event_sink.hpp"

namespace skyline::report {

EventSink::EventSink(const std::filesystem::path& folder, double begun_s, std::uint64_t replayed)
    : file_(folder, begun_s), replayed_(replayed) {}

std::string EventSink::name() const {
  return "event file " + file_.path().string();
}

void EventSink::add(std::span<const store::MetricRecord> records) {
  try {
    if (records.back().step + 1 < replayed_) {
      file_.hold(records);
      return;
    }
    if (!added_) file_.add(records);
    added_ = true;
    if (!alone_) {
      file_.remove_others();
      alone_ = true;
    }
    added_ = false;
  } catch (const UserError& problem) {
    throw SinkAway(problem.what());
  }
}

}  // namespace skyline::report
