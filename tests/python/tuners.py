"""Algorithms to search with."""

import math
import random


class RandomTuner:
    """Random, as in docs/python.md."""

    def __init__(self, space):
        self.space = space

    def ask(self, n, seed):
        draw = random.Random(seed)
        return [{name: draw.choice(values) for name, values in self.space.items()} for _ in range(100)]

    def tell(self, trial):
        print(trial.number, trial.parameters, trial.values or trial.failed)


class Remembering(RandomTuner):
    """Random with a memory."""

    def __init__(self, space):
        super().__init__(space)
        self.seen = []

    def ask(self, n, seed):
        draw, chosen = random.Random(seed), []
        unseen = math.prod(map(len, self.space.values())) - len(self.seen)
        while len(chosen) < min(n, unseen):
            proposal = {name: draw.choice(values) for name, values in self.space.items()}
            if proposal not in self.seen:
                self.seen.append(proposal)
                chosen.append(proposal)
        return chosen


class Careful(Remembering):
    """Is told the recorded answers, and must not be asked for them."""

    def __init__(self, space, objectives, trials=0):
        super().__init__(space)
        assert (objectives, trials) == ([{"maximize": "score"}, {"minimize": "size"}], 12), (objectives, trials)

    def accept(self, proposals, seed):
        print("accepted", len(proposals))
        self.seen += proposals


class Forgetful(Remembering):
    """Draws by other chance than the seed."""

    def ask(self, n, seed):
        return super().ask(n, random.SystemRandom().randrange(1 << 31))


class Stubborn(RandomTuner):
    """Proposes the same again and again."""

    def ask(self, n, seed):
        return [{name: values[0] for name, values in self.space.items()}]


class Conditional:
    """Draws momentum for sgd alone; for adam it proposes None, as the rows of a run have it."""

    def __init__(self, space, conditional):
        assert conditional == ["momentum"], conditional
        self.left = [{"optimizer": "adam", "momentum": None}, *({"optimizer": "sgd", "momentum": value} for value in space["momentum"])]

    def ask(self, n, seed):
        return [self.left.pop() for _ in range(min(n, len(self.left)))]

    def tell(self, trial):
        print(trial.parameters)


class Short:
    """Ends after three trials. Needs nothing of the space."""

    def __init__(self):
        self.asked = 0

    def ask(self, n, seed):
        self.asked += 1
        return [{"lr": 0.1, "depth": self.asked}] if self.asked < 4 else None

    def tell(self, trial):
        assert trial.failed is None and trial.values["score"] == trial.parameters["lr"] * trial.parameters["depth"]


class With:
    def __init__(self, what):
        self.what = what

    def ask(self, n, seed):
        return []

    def tell(self, trial):
        pass


named = With("a name")
