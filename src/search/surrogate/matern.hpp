#pragma once

#include <Eigen/Core>

namespace skyline::search {

/// The Matern kernel of smoothness 5/2 at squared distances s2, an array of any shape.
/// @see Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, equation 4.17
template <typename Array>
struct Matern {
  explicit Matern(const Array& squared) {
    const Array distances = squared.sqrt();
    const Array decay = (-distances).exp();
    values = (1 + distances + squared / 3) * decay;
    slopes = (1 + distances) * decay / 3;
  }

  Array values;
  Array slopes;  ///< derivatives of the values by s2, times -2
};

}  // namespace skyline::search
