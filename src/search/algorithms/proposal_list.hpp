#pragma once

#include "skyline/search/searcher.hpp"

#include "core/text/wording.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace skyline::search {

/// A searcher that proposes the elements of a list, in their order, and needs no results.
class ProposalList : public Searcher {
 public:
  /// @param noun  word for one of them, for the finish reason
  ProposalList(std::vector<trial::Proposal> proposals, std::string noun)
      : proposals_(std::move(proposals)), noun_(std::move(noun)) {}

  Answer ask(std::size_t room) override {
    const std::size_t count = std::min(room, proposals_.size() - asked_);
    const auto begin = std::make_move_iterator(proposals_.begin() + static_cast<std::ptrdiff_t>(asked_));
    asked_ += count;
    return {{begin, begin + static_cast<std::ptrdiff_t>(count)}};
  }
  void tell(const trial::CommittedTrial&) override {}
  bool needs_results() const override { return false; }
  bool finished() const override { return asked_ == proposals_.size(); }
  std::string finish_reason() const override { return counted(asked_, noun_) + " done"; }
  std::size_t expected_trials() const override { return proposals_.size(); }

 private:
  std::vector<trial::Proposal> proposals_;
  std::string noun_;
  std::size_t asked_ = 0;
};

}  // namespace skyline::search
