#include "store/import/work_in_order.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace skyline::store {
namespace {

class OrderedWork {
 public:
  using Work = std::function<std::function<void()>(std::size_t)>;
  OrderedWork(std::size_t count, const Work& work) : count_(count), work_(work) {}

  void run() {
    std::unique_lock lock(mutex_);
    while (!error_ && given_ < count_) {
      const std::size_t number = given_++;
      lock.unlock();
      std::function<void()> result = work_of(number);
      lock.lock();
      turn_.wait(lock, [&] { return error_ != nullptr || next_ == number; });
      if (error_) return;
      lock.unlock();
      std::exception_ptr error = caught(result);
      lock.lock();
      error_ = std::move(error);
      ++next_;
      turn_.notify_all();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  /// Returns the function for one result. An error is a result, too, and is thrown in its turn.
  std::function<void()> work_of(std::size_t number) const {
    std::function<void()> result;
    if (const auto error = caught([&] { result = work_(number); })) {
      return [error] { std::rethrow_exception(error); };
    }
    return result;
  }
  static std::exception_ptr caught(const std::function<void()>& action) {
    try {
      action();
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  const std::size_t count_;
  const Work& work_;
  std::mutex mutex_;
  std::condition_variable turn_;
  std::size_t given_ = 0;
  std::size_t next_ = 0;
  std::exception_ptr error_;
};

}  // namespace

void work_in_order(std::size_t count, std::size_t threads,
                   const std::function<std::function<void()>(std::size_t number)>& work) {
  OrderedWork ordered(count, work);
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads && i < count; ++i) others.emplace_back([&] { ordered.run(); });
    ordered.run();
  }
  ordered.rethrow();
}

}  // namespace skyline::store
