#include "core/log_writer.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace skyline::log {

struct LineWriter::State {
  explicit State(std::function<void(const Line& line)> its_write) : write(std::move(its_write)) {}
  void work();

  const std::function<void(const Line& line)> write;
  std::mutex mutex;  // guards all members below
  std::condition_variable changed;
  std::deque<Line> lines;
  std::size_t dropped = 0;  // number of lines dropped since the last one that was taken
  bool writing = false;
  bool ending = false;
  std::thread thread;
};

void LineWriter::State::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return ending || !lines.empty(); });
    if (lines.empty()) return;
    const Line line = std::move(lines.front());
    lines.pop_front();
    const std::size_t missing = std::exchange(dropped, 0);
    writing = true;
    lock.unlock();
    write(line);
    if (missing > 0) {
      write({Level::kWarning, std::to_string(missing) + " lines are left out here: they came faster than "
                                                        "they could be written"});
    }
    lock.lock();
    writing = false;
    changed.notify_all();
  }
}

LineWriter::LineWriter(std::function<void(const Line& line)> write)
    : state_(std::make_shared<State>(std::move(write))) {
  state_->thread = std::thread([state = state_] { state->work(); });
}

LineWriter::~LineWriter() {
  if (state_->thread.joinable()) finish(std::chrono::milliseconds(0));
}

void LineWriter::add(Line line) {
  {
    const std::lock_guard lock(state_->mutex);
    const bool matters = line.level >= Level::kWarning && !line.as_it_is;
    if (state_->lines.size() >= (matters ? 2 : 1) * kMostLines) {
      if (!line.as_it_is) ++state_->dropped;
      return;
    }
    state_->lines.push_back(std::move(line));
  }
  state_->changed.notify_all();
}

bool LineWriter::settle(std::chrono::milliseconds most) {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, most, [this] { return state_->lines.empty() && !state_->writing; });
}

bool LineWriter::finish(std::chrono::milliseconds most) {
  const bool done = settle(most);
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
    if (!done) state_->lines.clear();
  }
  state_->changed.notify_all();
  if (done) {
    state_->thread.join();
  } else {
    state_->thread.detach();
  }
  return done;
}

}  // namespace skyline::log
