#include "skyline/core/error.hpp"
#include "skyline/space/search_space.hpp"

#include <algorithm>

namespace skyline::space {

GenotypeWalk::GenotypeWalk(const SearchSpace& space) : touched_(space.parameters().size()) {
  for (const Parameter& parameter : space.parameters()) values_.push_back(parameter.values.size());
  genotype_.choices.assign(values_.size(), 0);
}

void GenotypeWalk::advance(const std::vector<bool>& reads) {
  require(!finished_ && reads.size() == touched_.size(), "GenotypeWalk::advance: no such genotype");
  for (std::size_t p = 0; p < reads.size(); ++p) touched_[p] = touched_[p] || reads[p];
  for (std::size_t p = values_.size(); p-- > 0;) {
    if (touched_[p] && ++genotype_.choices[p] < values_[p]) return;
    genotype_.choices[p] = 0;
    touched_[p] = false;
  }
  finished_ = true;
}

double GenotypeWalk::share() const {
  if (finished_) return 1;
  double share = 0;
  double step = 1;
  for (std::size_t p = 0; p < values_.size(); ++p) {
    step /= static_cast<double>(values_[p]);
    share += step * genotype_.choices[p];
  }
  return share;
}

}  // namespace skyline::space
