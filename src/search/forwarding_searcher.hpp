#pragma once

#include "skyline/search/searcher.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace skyline::search {

/// Base of searchers that stand before another one and change a part of what it says: all that they do not
/// override is passed on.
class ForwardingSearcher : public Searcher {
 public:
  explicit ForwardingSearcher(std::unique_ptr<Searcher> next) : next_(std::move(next)) {}

  Answer ask(std::size_t room) override { return next_->ask(room); }
  bool accept(const trial::Proposal& recorded) override { return next_->accept(recorded); }
  void tell(const trial::CommittedTrial& committed) override { next_->tell(committed); }
  void tell_mean(const trial::CommittedTrial& mean, std::size_t count) override {
    next_->tell_mean(mean, count);
  }
  void allow_one_more() override { next_->allow_one_more(); }
  void think_on(ThreadCount threads) override { next_->think_on(std::move(threads)); }
  void stop() override { next_->stop(); }
  bool may_continue(trial::TrialNumber number) const override { return next_->may_continue(number); }
  bool needs_results() const override { return next_->needs_results(); }
  std::optional<std::size_t> generation() const override { return next_->generation(); }
  bool finished() const override { return next_->finished(); }
  std::string finish_reason() const override { return next_->finish_reason(); }
  bool gave_up() const override { return next_->gave_up(); }
  std::size_t expected_trials() const override { return next_->expected_trials(); }
  std::string progress_summary() const override { return next_->progress_summary(); }

 private:
  const std::unique_ptr<Searcher> next_;
};

}  // namespace skyline::search
