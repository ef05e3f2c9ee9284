#include "engine/slots/member_threads.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/exit_code.hpp"

#include "core/system/process.hpp"
#include "engine/slots/crash_signals.hpp"

#include <string>
#include <system_error>

namespace skyline::engine {

MemberThreads::~MemberThreads() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  work_came_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void MemberThreads::run(std::size_t count, const std::function<void(std::size_t)>& task) {
  while (threads_.size() + 1 < count) start();
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    count_ = count;
    open_ = count - 1;
    ++runs_;
  }
  work_came_.notify_all();
  task(0);
  std::unique_lock lock(mutex_);
  all_done_.wait(lock, [this] { return open_ == 0; });
}

void MemberThreads::start() {
  const std::size_t index = threads_.size() + 1;
  try {
    threads_.emplace_back([this, index, seen = runs_] { serve(index, seen); });
  } catch (const std::system_error& error) {
    throw UserError("cannot train a group's trial: for member " + std::to_string(index) + " of this rank " +
                    error_text(error) + "; start more ranks");
  }
}

void MemberThreads::serve(std::size_t index, std::uint64_t seen) {
  const SignalStack signals;
  if (!processors_.empty()) bind_this_thread(processors_[index % processors_.size()]);
  std::unique_lock lock(mutex_);
  for (;;) {
    work_came_.wait(lock, [&] { return ended_ || runs_ != seen; });
    if (ended_) return;
    seen = runs_;
    if (index >= count_) continue;
    lock.unlock();
    (*task_)(index);
    lock.lock();
    if (--open_ == 0) all_done_.notify_one();
  }
}

}  // namespace skyline::engine
