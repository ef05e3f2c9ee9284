#include "app/commands/count_progress.hpp"

#include "core/log.hpp"
#include "report/text/text_table.hpp"

#include <utility>

namespace skyline::app {
namespace {

constexpr double kSilent_s = 2;
constexpr double kDrawEvery_s = 0.5;
constexpr double kLogEvery_s = 10;
constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace

CountProgress::CountProgress(report::ProgressConsole console)
    : console_(std::move(console)), start_s_(console_.now_s()) {
  next_s_ = start_s_ + (console_.write ? kSilent_s : kLogEvery_s);
}

CountProgress::~CountProgress() {
  if (drawn_) console_.write(kEraseLine);
}

void CountProgress::show(double share) {
  const double now_s = console_.now_s();
  const double left_s = (now_s - start_s_) * (1 - share) / share;
  const std::string text = "counting: " + report::significant_text(100 * share, 2) + " %, " +
                           report::duration_text(left_s) + " left";
  if (console_.write) {
    console_.write(kEraseLine + text);
    drawn_ = true;
  } else {
    log::info(text);
  }
  next_s_ = now_s + (console_.write ? kDrawEvery_s : kLogEvery_s);
}

}  // namespace skyline::app
