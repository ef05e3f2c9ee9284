#include "skyline/core/error.hpp"
#include "skyline/space/search_space.hpp"

#include <limits>

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

std::int64_t GenotypeWalk::number() const {
  std::int64_t number = finished_ ? 1 : 0;
  for (std::size_t p = 0; p < values_.size(); ++p) {
    const bool is_too_large =
        __builtin_mul_overflow(number, static_cast<std::int64_t>(values_[p]), &number) ||
        __builtin_add_overflow(number, static_cast<std::int64_t>(genotype_.choices[p]), &number);
    if (is_too_large) return std::numeric_limits<std::int64_t>::max();
  }
  return number;
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
