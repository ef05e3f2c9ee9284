#pragma once

#include "skyline/search/cost_counter.hpp"

#include "search/forwarding_searcher.hpp"

#include <deque>
#include <future>
#include <memory>

namespace skyline::search {

/// Asks another searcher on a thread of its own, since its asks wait for a program that counts costs.
class BackgroundSearcher final : public ForwardingSearcher {
 public:
  BackgroundSearcher(std::unique_ptr<Searcher> next, std::shared_ptr<CostCounter> counter);
  BackgroundSearcher(const BackgroundSearcher&) = delete;
  BackgroundSearcher& operator=(const BackgroundSearcher&) = delete;
  /// Ends the thread.
  ~BackgroundSearcher() override;

  Answer ask(std::size_t room) override;
  bool accept(const trial::Proposal& recorded) override;
  void stop() override;
  bool finished() const override;

 private:
  bool is_busy() const { return thought_.valid() || !ready_.empty(); }

  std::shared_ptr<CostCounter> counter_;
  std::deque<trial::Proposal> ready_;  // proposed and not handed out
  std::future<Answer> thought_;        // destroyed first, which waits for the thread
};

}  // namespace skyline::search
