#pragma once

#include "search/forwarding_searcher.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace skyline::search {

/// Gives another searcher one more trial for each that was not trained, because what was asked before breaks
/// a constraint. A search that finds only such trials gives up.
class OutsideSearcher final : public ForwardingSearcher {
 public:
  /// @param trials  how many trials the search may have; the largest number if there is no limit
  OutsideSearcher(std::unique_ptr<Searcher> next, std::size_t trials);

  void tell(const trial::CommittedTrial& committed) override;
  bool gave_up() const override;
  std::string finish_reason() const override;

 private:
  std::size_t most_;       // most trials that are given
  std::size_t count_ = 0;  // trials that were not trained
};

}  // namespace skyline::search
