"""Functions of numbers and words on grids, to be minimized: public ones of one or two objectives, and shapes of trainings."""

import math
import random

from searched import Peers

FINE = 101  # values of a number


class Function:
    """`value(places, words)` of numbers in [0, 1] and of indices of words. Less is better, and nothing is less than `best`."""

    group, objectives = "idle or words", 1

    def __init__(self, name, numbers, words, value, best, noise=0.0):
        self.name, self.value, self.best, self.noise = name, value, best, noise
        self.numbers = {f"x{i}": count for i, count in enumerate(numbers)}  # counts of values
        self.words = {f"w{i}": count for i, count in enumerate(words)}
        self.scale = 1.0
        self.scale = self.random_regret()

    def sizes(self):
        """Returns the number of values of each parameter."""
        return {**self.numbers, **self.words}

    def space(self):
        """Returns the values of each parameter."""
        return {**{name: [round(i / (count - 1), 6) for i in range(count)] for name, count in self.numbers.items()},
                **{name: [f"v{i}" for i in range(count)] for name, count in self.words.items()}}

    def at(self, choices):
        """@param choices  index of the value of each parameter, by name"""
        places = [choices[name] / (count - 1) for name, count in self.numbers.items()]
        return self.value(places, [choices[name] for name in self.words])

    def regret(self, choices):
        """Returns the regret as a share of the median of random points."""
        return (self.at(choices) - self.best) / self.scale

    def curve(self, seed):
        return Curve(self, seed)

    def on_grid(self, count):
        """Gives each number so many values. The unit of regrets stays that of 101."""
        self.numbers = dict.fromkeys(self.numbers, count)
        return self

    def random_regret(self):
        draws = random.Random(0)
        drawn = ({name: draws.randrange(count) for name, count in self.sizes().items()} for _ in range(2001))
        regrets = sorted(map(self.regret, drawn))
        return regrets[1000]


class Smooth(Function):
    """A function whose numbers all matter."""

    group = "all matter"


class Curve:
    """The true regret of the best measured trial, after each trial."""

    def __init__(self, function, seed):
        self.function, self.noise = function, random.Random(seed + 1000)
        self.best, self.regrets = float("inf"), []

    def measure(self, choices):
        """Returns what a trial measures, a value per objective. @param choices  index of the value of each parameter, by name"""
        regret = self.function.regret(choices)
        measured = regret + self.noise.gauss(0, self.function.noise)
        self.regrets.append(regret if measured < self.best else self.regrets[-1])
        self.best = min(self.best, measured)
        return [measured]


class TwoObjectives(Function):
    """`value` returns two numbers. The volume is that up to the reference point (`reference`, `reference`)."""

    group, objectives = "two objectives", 2

    def __init__(self, name, count, value, reference, below):
        """@param below  the area between the axes and the true front"""
        self.name, self.value, self.noise = name, value, 0.0
        self.numbers, self.words = {f"x{i}": FINE for i in range(count)}, {}
        self.reference, self.whole = reference, reference ** 2 - below

    def curve(self, seed):
        return FrontCurve(self)


class FrontCurve:
    """The share of the true front's volume that is missing, after each trial."""

    def __init__(self, function):
        self.function, self.points, self.regrets = function, [], []

    def measure(self, choices):
        values, reference = self.function.at(choices), self.function.reference
        self.points.append([value / reference for value in values])
        self.regrets.append(1 - Peers.volume(self.points) * reference ** 2 / self.function.whole)
        return values


HARTMANN_A = ((10, 3, 17, 3.5, 1.7, 8), (.05, 10, 17, .1, 8, 14), (3, 3.5, 1.7, 10, 17, 8), (17, 8, .05, 10, .1, 14))
HARTMANN_P = ((1312, 1696, 5569, 124, 8283, 5886), (2329, 4135, 8307, 3736, 1004, 9991), (2348, 1451, 3522, 2883, 3047, 6650),
              (4047, 8828, 8732, 5743, 1091, 381))


def hartmann(x, _=()):
    return -sum(c * math.exp(-sum(a * (v - p / 1e4) ** 2 for a, v, p in zip(rows, x, points)))
                for c, rows, points in zip((1, 1.2, 3, 3.2), HARTMANN_A, HARTMANN_P))


def branin(x, _=()):
    a, b = 15 * x[0] - 5, 15 * x[1]
    return (b - 5.1 / (4 * math.pi ** 2) * a * a + 5 / math.pi * a - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(a) + 10


def levy(x, _=()):
    w = [1 + (20 * v - 10 - 1) / 4 for v in x]
    middle = sum((v - 1) ** 2 * (1 + 10 * math.sin(math.pi * v + 1) ** 2) for v in w[:-1])
    return math.sin(math.pi * w[0]) ** 2 + middle + (w[-1] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[-1]) ** 2)


def rosenbrock_on_logs(x, _=()):
    """Values from .01 to 10 of which the logarithm counts, as those of rates do; the size of the result, too."""
    z = [3 * v - 1 for v in x]
    return math.log1p(sum(100 * (b - a * a) ** 2 + (a - 1) ** 2 for a, b in zip(z, z[1:])))


def ackley(x, _=()):
    z = [40 * v - 13 for v in x]
    mean = math.sqrt(sum(v * v for v in z) / len(z))
    return -20 * math.exp(-.2 * mean) - math.exp(sum(math.cos(2 * math.pi * v) for v in z) / len(z)) + 20 + math.e


def styblinski(x, _=()):
    return sum(z ** 4 - 16 * z * z + 5 * z for z in (10 * v - 5 for v in x)) / 2


def michalewicz(x, _=()):
    return -sum(math.sin(math.pi * v) * math.sin((i + 1) * math.pi * v * v) ** 20 for i, v in enumerate(x))


def branin_with_idle(x, _=()):
    return branin(x) + 20 * (x[2] - .3) ** 2


def mixture(x, w):
    """Ten parameters: words shift the best place of numbers, and two numbers hardly matter."""
    centre = .2 + .2 * w[0]
    return ((x[0] - centre) ** 2 * 4 + abs(x[1] - .7) * (1 + w[1]) + 2 * (x[2] - x[0]) ** 2 + .05 * (x[3] - .5) ** 2 + .05 * x[4] +
            (.3, 0, .15, .5)[w[0]] + (.2, .1, 0)[w[1]] + (.1 if w[2] == w[3] else 0) + .3 * math.sin(3 * x[5]) ** 2)


def conditional(x, w):
    """A word decides which numbers count; the others are idle."""
    if w[0] == 0:
        return .4 + 2 * (x[0] - .2) ** 2 + (x[1] - .8) ** 2
    if w[0] == 1:
        return .1 + 3 * (x[2] - .6) ** 2 + 2 * (x[3] - .35) ** 2 + 2 * (x[4] - .5) ** 2 + (x[0] - .5) ** 2
    return .3 + abs(x[5] - .9) + (x[0] - .1) ** 2


def training(x, w):
    """An error as a training has it: diverges at high rates, a valley of rate and batch, little else."""
    rate, batch, decay, momentum, width, dropout = x
    effective = rate - .4 * batch + .25 * momentum
    error = .08 + 1.2 * (effective - .5) ** 2 + .1 * (decay - .4) ** 2 + .08 * math.exp(-3 * width) + .05 * (dropout - .3 * width) ** 2
    error += (0, .02, .05)[w[0]] + (.03 if w[1] else 0)
    return .9 if effective > .85 else error


def steps(x, _=()):
    """Plateaus, as of depths and leaves of trees."""
    return sum(round(abs(v - c) * 8) / 8 * weight for v, c, weight in zip(x, (.3, .7, .5, .15, .9), (3, 2, 1, 1, .5)))


def zdt(front):
    """The problems of Zitzler, Deb and Thiele (2000). @param front  the second objective of the front at the first one"""

    def value(x, _=()):
        g = 1 + 9 * sum(x[1:]) / (len(x) - 1)
        return [x[0], g * front(x[0] / g)]

    return value


def dtlz2(x, _=()):
    """Deb, Thiele, Laumanns and Zitzler (2002)."""
    radius = 1 + sum((v - .5) ** 2 for v in x[1:])
    return [radius * math.cos(x[0] * math.pi / 2), radius * math.sin(x[0] * math.pi / 2)]


def all_functions():
    fine = lambda count: [FINE] * count
    return [
        Smooth("hartmann6", fine(6), [], hartmann, -3.32237),
        Function("branin, 9 idle", fine(12), [], branin_with_idle, .397887),
        Smooth("levy5", fine(5), [], levy, 0),
        Smooth("rosenbrock on logs", fine(4), [], rosenbrock_on_logs, 0),
        Smooth("ackley6", fine(6), [], ackley, 0),
        Smooth("styblinski8", fine(8), [], styblinski, -39.16617 * 8),
        Smooth("michalewicz5", fine(5), [], michalewicz, -4.687658),
        Function("mixture", fine(6), [4, 3, 3, 3], mixture, .0),
        Function("conditional", fine(6), [3, 3], conditional, .1),
        Function("training", fine(6), [3, 2], training, .08 + .08 * math.exp(-3)),
        Function("steps", fine(8), [], steps, 0),
        Smooth("hartmann6, noise .05", fine(6), [], hartmann, -3.32237, .05),
        Function("branin, 9 idle, noise .2", fine(12), [], branin_with_idle, .397887, .2),
        Function("training, noise .05", fine(6), [3, 2], training, .08 + .08 * math.exp(-3), .05),
        TwoObjectives("zdt1", 6, zdt(lambda f: 1 - math.sqrt(f)), 11, 1 / 3),
        TwoObjectives("zdt2", 6, zdt(lambda f: 1 - f * f), 11, 2 / 3),
        TwoObjectives("dtlz2", 6, dtlz2, 1.1, math.pi / 4),
    ]
