#include "evaluate/process/processor_shares.hpp"

#include <algorithm>
#include <utility>

namespace skyline::evaluate {

ProcessorShares::ProcessorShares(std::vector<int> processors) {
  for (const int number : processors) processors_.push_back({number, 0});
}

ProcessorShares::Share ProcessorShares::acquire(std::size_t count) {
  const std::lock_guard lock(mutex_);
  std::ranges::sort(processors_, {},
                    [](const Processor& each) { return std::pair(each.users, each.number); });
  std::vector<int> taken;
  for (Processor& processor : processors_) {
    if (taken.size() == count) break;
    ++processor.users;
    taken.push_back(processor.number);
  }
  std::ranges::sort(taken);
  return {*this, std::move(taken)};
}

void ProcessorShares::give_back(const std::vector<int>& processors) {
  const std::lock_guard lock(mutex_);
  for (Processor& processor : processors_) {
    if (std::ranges::count(processors, processor.number) > 0) --processor.users;
  }
}

}  // namespace skyline::evaluate
