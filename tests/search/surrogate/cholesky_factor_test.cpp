#include "search/surrogate/cholesky_factor.hpp"

#include "skyline/core/error.hpp"
#include "skyline/core/random.hpp"

#include <vector>

#include <Eigen/Cholesky>
#include <gtest/gtest.h>

namespace skyline::search {
namespace {

Eigen::MatrixXd random_matrix(RandomStream& random, Eigen::Index rows, Eigen::Index columns) {
  Eigen::MatrixXd matrix(rows, columns);
  for (double& value : matrix.reshaped()) value = 2 * random.uniform() - 1;
  return matrix;
}

Eigen::MatrixXd positive_matrix(RandomStream& random, Eigen::Index size) {
  const Eigen::MatrixXd root = random_matrix(random, size, size);
  return root * root.transpose() + 0.1 * Eigen::MatrixXd::Identity(size, size);
}

std::vector<double*> begins_of(Eigen::MatrixXd& columns) {
  std::vector<double*> begins;
  for (Eigen::Index column = 0; column < columns.cols(); ++column)
    begins.push_back(columns.col(column).data());
  return begins;
}

/// Appends the rows of a matrix from the factor's size to `end`.
void append_to(CholeskyFactor& factor, const Eigen::MatrixXd& matrix, Eigen::Index end) {
  Eigen::MatrixXd rows = Eigen::MatrixXd::Zero((matrix.rows() + 3) / 4 * 4, end - factor.size());
  rows.topRows(matrix.rows()) = matrix.middleCols(factor.size(), rows.cols());
  factor.append(begins_of(rows));
}

TEST(CholeskyFactor, SolvesAsEigenDoes) {
  RandomStream random(1);
  for (const Eigen::Index size : {1, 4, 5, 71, 150}) {
    const Eigen::MatrixXd matrix = positive_matrix(random, size);
    const Eigen::LLT<Eigen::MatrixXd> expected(matrix);
    CholeskyFactor factor;
    append_to(factor, matrix, size);
    EXPECT_EQ(factor.size(), size);
    Eigen::MatrixXd columns = Eigen::MatrixXd::Zero((size + 3) / 4 * 4, 7);
    columns.topRows(size) = random_matrix(random, size, 7);
    const Eigen::MatrixXd right_sides = columns.topRows(size);
    factor.solve(begins_of(columns), 0);
    EXPECT_TRUE(columns.topRows(size).isApprox(expected.matrixL().solve(right_sides), 1e-9)) << size;
    EXPECT_TRUE(factor.solve_transposed(right_sides.col(0))
                    .isApprox(expected.matrixU().solve(right_sides.col(0)), 1e-9));
    EXPECT_NEAR(factor.log_diagonal(size), Eigen::MatrixXd(expected.matrixL()).diagonal().array().log().sum(),
                1e-9);
  }
}

TEST(CholeskyFactor, IsTheSameBitsByRowsAndAtOnceAndAfterRowsWereDropped) {
  RandomStream random(2);
  const Eigen::MatrixXd matrix = positive_matrix(random, 90);
  CholeskyFactor at_once;
  append_to(at_once, matrix, 90);
  CholeskyFactor by_rows;
  for (Eigen::Index end = 1; end <= 80; ++end) append_to(by_rows, matrix, end);
  by_rows.truncate(37);
  append_to(by_rows, matrix, 90);
  Eigen::MatrixXd left = Eigen::MatrixXd::Zero(92, 6);
  left.topRows(90) = random_matrix(random, 90, 6);
  Eigen::MatrixXd right = left;
  at_once.solve(begins_of(left), 0);
  for (double* const column : begins_of(right)) by_rows.solve({&column, 1}, 0);
  EXPECT_EQ(left, right);
}

TEST(CholeskyFactor, ContinuesASolutionByRowsThatWereAppended) {
  RandomStream random(3);
  const Eigen::MatrixXd matrix = positive_matrix(random, 20);
  CholeskyFactor factor;
  append_to(factor, matrix, 13);
  Eigen::MatrixXd continued = random_matrix(random, 20, 3);
  Eigen::MatrixXd whole = continued;
  continued.bottomRows(7).setZero();
  factor.solve(begins_of(continued), 0);
  append_to(factor, matrix, 20);
  continued.bottomRows(7) = whole.bottomRows(7);
  factor.solve(begins_of(continued), 13);
  factor.solve(begins_of(whole), 0);
  EXPECT_EQ(continued, whole);
}

TEST(CholeskyFactor, RefusesAMatrixThatIsNotPositiveDefinite) {
  CholeskyFactor factor;
  EXPECT_THROW(append_to(factor, Eigen::MatrixXd::Ones(2, 2), 2), InternalError);
}

}  // namespace
}  // namespace skyline::search
