"""Writes reference_values.hpp, the numbers that tests of the surrogate compare with: python reference_values.py > reference_values.hpp

They come from scikit-learn's Gaussian process, BoTorch's analytic improvement, SciPy and NumPy (written with
scikit-learn 1.9, BoTorch 0.18, SciPy 1.17, NumPy 2.4).
"""

import itertools

import numpy as np
import torch
from botorch.acquisition.multi_objective.analytic import ExpectedHypervolumeImprovement
from botorch.utils.multi_objective.box_decompositions.non_dominated import FastNondominatedPartitioning
from botorch.utils.testing import MockModel, MockPosterior
from scipy.linalg import cholesky, solve_triangular
from scipy.special import ndtr, ndtri
from sklearn import config_context
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Kernel

ORDINAL = np.array([True, False, True, False, True])
POINTS, CANDIDATES, FEATURES = 14, 5, 3
NAN = np.nan


def distances(left, right):
    """Sums over parameters, and squared distances of features, between rows of points."""
    parameters, features = np.zeros((len(left), len(right))), np.zeros((len(left), len(right)))
    for i, j in itertools.product(range(len(left)), range(len(right))):
        for a, b, ordinal in zip(left[i], right[j], ORDINAL):
            if np.isnan(a) and np.isnan(b):
                continue
            if np.isnan(a) or np.isnan(b):
                parameters[i, j] += 1
            else:
                parameters[i, j] += abs(a - b) if ordinal else float(a != b)
        features[i, j] = ((left[i, len(ORDINAL):] - right[j, len(ORDINAL):]) ** 2).sum()
    return parameters, features


def pairs_median(values):
    """The greater of the two middle values where their number is even."""
    values = np.sort(values[np.triu_indices(len(values), 1)])
    return values[len(values) // 2]


class Mixed(Kernel):
    """The kernel of the surrogate, as scikit-learn takes one."""

    def __init__(self, hyper, scales, variance):
        self.hyper, self.scales, self.variance = hyper, scales, variance

    def __call__(self, X, Y=None, eval_gradient=False):
        weight, parameter_length, feature_length, _ = self.hyper
        parameters, features = distances(X, X if Y is None else Y)
        return self.variance * ((1 - weight) * np.exp(-parameters / (parameter_length * self.scales[0])) +
                                weight * np.exp(-features / (2 * feature_length ** 2 * self.scales[1])))

    def diag(self, X):
        return np.full(len(X), self.variance)

    def is_stationary(self):
        return True


def scale_of(points, targets, hyper, scales):
    """The variance of the kernel, and the logarithm of the likelihood by which hyper-parameters are chosen."""
    factor = cholesky(Mixed(hyper, scales, 1.0)(points) + (hyper[3] + 1e-6) * np.eye(len(points)), lower=True)
    white = solve_triangular(factor, targets, lower=True)
    variance = (white @ white + 1) / (len(points) + 1)
    return variance, -.5 * len(points) * np.log(variance) - np.log(np.diag(factor)).sum()


def chosen(points, targets, scales):
    grid = itertools.product((.9, .7, .5), (.2, .4, .8), (.5, 1., 2.), (.003, .03, .2))
    return max(grid, key=lambda hyper: scale_of(points, targets, hyper, scales)[1])


def surrogate_targets(values):
    ranks = np.array([(values < v).sum() + ((values == v).sum() - 1) / 2 for v in values])
    mixed = .5 * ndtri((ranks + .5) / len(values)) + .5 * np.clip((values - values.mean()) / (values.std() + 1e-9), -2, 2)
    return mixed - mixed.mean()


def hypervolume_improvements(front, means, deviations):
    """For minimized objectives and a reference of ones. BoTorch maximizes."""
    reference = -torch.ones(front.shape[1], dtype=torch.double)
    partitioning = FastNondominatedPartitioning(reference, Y=-torch.tensor(front))
    gains = []
    for mean, deviation in zip(means, deviations):
        posterior = MockPosterior(mean=-torch.tensor(mean)[None], variance=torch.tensor(deviation)[None] ** 2)
        improvement = ExpectedHypervolumeImprovement(MockModel(posterior), reference, partitioning)
        gains.append(improvement(torch.zeros(1, 1, dtype=torch.double)).item())
    return gains


def sample(random, count):
    parameters = np.column_stack([random.integers(0, 4 if ordinal else 3, count) / (3 if ordinal else 1)
                                  for ordinal in ORDINAL])
    parameters[random.random(parameters.shape) < .15] = NAN
    return np.column_stack([parameters, np.round(random.normal(size=(count, FEATURES)), 2)])


def array(name, values):
    words = ["NAN" if np.isnan(v) else repr(float(v)) for v in np.ravel(values)]
    lines, line = [], ""
    for word in words:
        if len(line) + len(word) > 104:
            lines.append(line.rstrip())
            line = ""
        line += word + ", "
    lines.append(line.rstrip(", "))
    print(f"inline constexpr double {name}[] = {{\n    " + "\n    ".join(lines) + "};")


def main():
    random = np.random.default_rng(32)
    points, candidates = sample(random, POINTS), sample(random, CANDIDATES)
    scales = [pairs_median(values) for values in distances(points, points)]
    truth = points[:, 5] + .5 * points[:, 6] ** 2 + np.nan_to_num(points[:, 0]) - .7 * (points[:, 1] == 2)
    values = np.round(truth + .05 * random.normal(size=POINTS), 1)
    targets = surrogate_targets(values)

    print("#pragma once\n\n// Written by reference_values.py.\n\n#include <cmath>\n\nnamespace skyline::search::testing {\n")
    print("// clang-format off")
    array("kPoints", points)
    array("kCandidates", candidates)
    array("kScales", scales)
    array("kValues", values)
    array("kTargets", targets)
    array("kChosenHyper", chosen(points, targets, scales))
    hypers, results = [(.9, .2, 2., .003), (.5, .8, .5, .2), (.7, .4, 1., .03)], []
    for hyper in hypers:
        variance, _ = scale_of(points, targets, hyper, scales)
        process = GaussianProcessRegressor(Mixed(hyper, scales, variance), alpha=variance * (hyper[3] + 1e-6), optimizer=None)
        with config_context(assume_finite=True):  # NaN is a parameter that isn't used
            process.fit(points, targets)
            mean, deviation = process.predict(candidates, return_std=True)
            fitted = process.predict(points)
        results.append(np.concatenate([[process.log_marginal_likelihood_value_], mean, deviation, fitted]))
    array("kHypers", hypers)
    print("// log-likelihood, means and deviations of the candidates, means of the points; a row for each of kHypers")
    array("kPredictions", results)
    probabilities = [1e-300, 1e-20, 1e-5, .01, .02425, .1, .3, .5, .77, .999, 1 - 1e-12]
    array("kProbabilities", probabilities)
    array("kQuantiles", ndtri(probabilities))
    cases = np.array([[.3, .7, .2], [-1.5, .3, .4], [2., 1e-3, 0.], [-8., 1., 0.], [0., .5, 0.]])
    gains = (cases[:, 0] - cases[:, 2]) / cases[:, 1]
    array("kImprovementCases", cases)
    array("kImprovements", cases[:, 1] * (gains * ndtr(gains) + np.exp(-.5 * gains ** 2) / np.sqrt(2 * np.pi)))
    fronts, all_means, all_deviations, gains = [], [], [], []
    for objectives in (2, 3, 4):
        front = np.abs(random.normal(size=(9, objectives)))
        front = np.round(front / np.linalg.norm(front, axis=1, keepdims=True), 2)
        means, deviations = np.round(random.random((3, objectives)), 2), np.round(random.uniform(.05, .4, (3, objectives)), 2)
        gains += hypervolume_improvements(front, means, deviations)
        for all_values, values in ((fronts, front), (all_means, means), (all_deviations, deviations)):
            all_values += list(values.ravel())
    print("// nine points of a front and three candidates, for 2, 3 and 4 objectives")
    array("kFronts", fronts)
    array("kMeans", all_means)
    array("kDeviations", all_deviations)
    array("kHypervolumeImprovements", gains)
    print("// clang-format on\n\n}  // namespace skyline::search::testing")


if __name__ == "__main__":
    main()
