#pragma once

#include "skyline/space/search_space.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace skyline::space {

/// Goes through all assignments of a few parameters; the other parameters keep their first value.
class Combinations {
 public:
  Combinations(const std::vector<Parameter>& parameters, std::vector<std::size_t> varied)
      : parameters_(parameters), varied_(std::move(varied)) {
    genotype_.choices.assign(parameters.size(), 0);
  }
  const Genotype& current() const { return genotype_; }
  bool advance() {
    for (const std::size_t index : varied_) {
      if (++genotype_.choices[index] < parameters_[index].values.size()) return true;
      genotype_.choices[index] = 0;
    }
    return false;
  }

 private:
  const std::vector<Parameter>& parameters_;
  std::vector<std::size_t> varied_;
  Genotype genotype_;
};

}  // namespace skyline::space
