#pragma once

#include "search/model/candidate_set.hpp"
#include "search/surrogate/forecast.hpp"
#include "search/surrogate/gaussian_process.hpp"

#include <cstddef>
#include <deque>
#include <unordered_set>
#include <vector>

namespace skyline::search {

/// What the counted costs of some architectures let expect of others, so that a program counts only those
/// that a model likes. Each cost has a Gaussian process. Deterministic; not thread-safe.
class CostEstimate {
 public:
  /// Most architectures by which costs are estimated.
  static constexpr std::size_t kMostKnown = 300;

  /// @param embedding  must outlive this object
  /// @param costs      number of counted costs
  CostEstimate(const Embedding& embedding, std::size_t costs);

  /// Takes the costs of a candidate, unless it has them, or has enough.
  void add(const CandidatePointer& counted);
  /// Returns copies of the candidates with estimated costs in place of counted ones.
  std::vector<CandidatePointer> estimated(const std::vector<CandidatePointer>& candidates);

 private:
  struct Cost {
    explicit Cost(const PointSpace& space) : process(space), forecast(process, kMostForecast) {}

    static constexpr std::size_t kMostForecast = 12 * CandidateSet::kMostNumbers;  // bytes, as TrialModel
    GaussianProcess process;
    Forecast forecast;
    Eigen::Index chosen_by = 0;  // number of values by which scale and hyper-parameters were chosen
    bool is_log = false;         // whether the process has logarithms
    double offset = 0;           // a value, or its logarithm, is offset + scale * target
    double scale = 1;
  };

  void fit();
  void fit(Cost& cost, std::size_t number);

  const Embedding& embedding_;
  std::deque<Cost> costs_;
  std::vector<CandidatePointer> known_;
  std::unordered_set<space::ArchId> ids_;
};

}  // namespace skyline::search
