"""The peers of comparisons of searches: others' algorithms on a table, as their users would run them.

usage: searched_peers.py < TASK     a JSON object: sizes, budgets, rows, trials, seed, peer, maximize, computed
A row has the id of an architecture, and its values for each of the `budgets`, epochs of which the last are a whole training.
Prints the architecture and the rung of each new training, in the order in which they were asked for.
"""

import functools
import json
import random
import sys

from asked_peers import ASKED

HALVED = 256  # architectures with which successive halving begins


class Table:
    """Answers a peer. What was asked for before is answered again, and counts as no trial."""

    def __init__(self, task):
        self.sizes, self.rows, self.trials = task["sizes"], task["rows"], task["trials"]
        self.whole = len(task["budgets"]) - 1
        self.seen, self.found = set(), []
        self.asked = 0

    def row(self, genotype):
        place = 0
        for choice, size in zip(genotype, self.sizes):
            place = place * size + int(choice)
        return self.rows[place]

    def __call__(self, genotype, rung=None):
        architecture, *values = self.row(genotype)
        rung = self.whole if rung is None else rung
        self.asked += 1
        if (architecture, rung) not in self.seen and values[rung]:
            self.seen.add((architecture, rung))
            self.found.append([architecture, rung])
        return values[rung]

    def is_done(self):
        return len(self.found) >= self.trials or self.asked >= 100 * self.trials


def asked_search(task, table, begin):
    ask, tell = begin({}, {f"p{i}": size for i, size in enumerate(table.sizes)}, task["maximize"], task["seed"], task["trials"])
    while not table.is_done():
        trial, choices = ask()
        tell(trial, table(choices.values()))


def pymoo_search(task, table):
    import numpy
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import ElementwiseProblem
    from pymoo.operators.crossover.sbx import SBX
    from pymoo.operators.mutation.pm import PM
    from pymoo.operators.repair.rounding import RoundingRepair
    from pymoo.operators.sampling.rnd import IntegerRandomSampling

    signs = [-1 if one else 1 for one in task["maximize"]]

    class Problem(ElementwiseProblem):
        def __init__(self):
            super().__init__(n_var=len(table.sizes), n_obj=len(signs), xl=0, xu=numpy.array(table.sizes) - 1, vtype=int)

        def _evaluate(self, x, out, *_, **__):
            values = table(x)
            out["F"] = [sign * value for sign, value in zip(signs, values)] if values else [1e9] * len(signs)

    algorithm = NSGA2(pop_size=20, n_offsprings=10, sampling=IntegerRandomSampling(),
                      crossover=SBX(prob=0.9, eta=3.0, vtype=float, repair=RoundingRepair()),
                      mutation=PM(prob=1.0, eta=3.0, vtype=float, repair=RoundingRepair()), eliminate_duplicates=True)
    algorithm.setup(Problem(), seed=task["seed"], termination=("n_gen", 10 ** 6))
    while not table.is_done() and algorithm.has_next():
        algorithm.next()


def archai_search(task, table, searcher_of, is_repeated=False):
    """An algorithm of Archai 1.0.0 with its defaults, over its configuration space. Unlike there, no plots are drawn (a choice
    does not depend on them), the number of iterations is that of the trials, and weights are not saved, which fails."""
    import contextlib
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        os.chdir(folder)  # where its archai.log goes
        import torch
        from archai.discrete_search import algos
        from archai.discrete_search.api import SearchObjectives
        from archai.discrete_search.api.search_results import SearchResults
        from archai.discrete_search.evaluators import EvaluationFunction
        from archai.discrete_search.predictors.dnn_ensemble import PredictiveDNNEnsemble
        from archai.discrete_search.search_spaces.config import ArchParamTree, ConfigSearchSpace, DiscreteChoice

        class Architecture:
            def __init__(self, config):
                self.genotype = [int(config.pick(f"p{i}")) for i in range(len(table.sizes))]

        class Objectives(SearchObjectives):
            """Successive halving gives one number as the budget of all models, where a list is expected."""

            def eval_all_objs(self, models, budgets=None, **options):
                lists = {name: [budget] * len(models) for name, budget in (budgets or {}).items()}
                return super().eval_all_objs(models, lists, **options)

        def objective(index, is_computed):
            def value(model, epochs):
                rung = None if epochs is None else min(range(len(task["budgets"])), key=lambda i: abs(task["budgets"][i] - epochs))
                values = table.row(model.arch.genotype)[-1] if is_computed else table(model.arch.genotype, rung)
                return values[index] if values else float("nan")
            return EvaluationFunction(value)

        def end_when_done(_):
            if table.is_done():
                raise StopIteration

        torch.manual_seed(task["seed"])
        SearchResults.save_all_2d_pareto_evolution_plots = lambda *_: None
        choices = {f"p{i}": DiscreteChoice(list(map(str, range(size)))) for i, size in enumerate(table.sizes)}
        objectives = Objectives()
        for index, (maximize, is_computed) in enumerate(zip(task["maximize"], task["computed"])):
            objectives.add_objective(f"objective_{index}", objective(index, is_computed), higher_is_better=maximize,
                                     compute_intensive=not is_computed)
        space = ConfigSearchSpace(Architecture, ArchParamTree(choices), seed=task["seed"])
        options = {"search_space": space, "search_objectives": objectives, "output_dir": folder, "num_iters": task["trials"],
                   "seed": task["seed"]}
        with contextlib.suppress(StopIteration):
            while not table.is_done():
                searcher = searcher_of(algos, options, lambda: PredictiveDNNEnsemble(device="cpu"))
                searcher.subscribe_start_iteration(end_when_done)
                searcher.search()
                if not is_repeated:
                    break


def archai_halving(task, table):
    """One halving after the other, each with other architectures. Archai keeps the share of fronts by which the budget grows, and
    fails if that is less than one front. There are no weights to save."""
    budgets = task["budgets"]
    if len(budgets) < 2:
        sys.exit("successive halving needs budgets: scripts/bench/budgets")

    def searcher_of(_, options, __):
        from archai.discrete_search.algos.successive_halving import SuccessiveHalvingSearch
        options["search_space"].save_arch = lambda *_: None
        return SuccessiveHalvingSearch(
            search_space=options["search_space"], objectives=options["search_objectives"], dataset_provider=None,
            output_dir=options["output_dir"], seed=options["seed"], num_iters=len(budgets), init_num_models=HALVED,
            init_budget=budgets[0], budget_multiplier=budgets[1] / budgets[0])

    archai_search(task, table, searcher_of, is_repeated=True)


def random_search(task, table):
    random.seed(task["seed"])
    while not table.is_done():
        table([random.randrange(size) for size in table.sizes])


PEERS = {
    "random": random_search,
    **{name: functools.partial(asked_search, begin=begin) for name, begin in ASKED.items()},
    "pymoo-nsga2": pymoo_search,
    "archai-evolution-pareto": lambda task, table: archai_search(
        task, table, lambda algos, options, _: algos.EvolutionParetoSearch(save_pareto_model_weights=False, **options)),
    "archai-local-search": lambda task, table: archai_search(
        task, table, lambda algos, options, _: algos.LocalSearch(save_pareto_model_weights=False, **options)),
    "archai-mo-bananas": lambda task, table: archai_search(
        task, table, lambda algos, options, ensemble: algos.MoBananasSearch(surrogate_model=ensemble(), **options)),
    "archai-successive-halving": archai_halving,
}


def main():
    task = json.load(sys.stdin)
    if task["peer"] not in PEERS:
        sys.exit(f"unknown peer, known here: {', '.join(PEERS)}")
    table = Table(task)
    PEERS[task["peer"]](task, table)
    print(json.dumps(table.found[:task["trials"]]))


if __name__ == "__main__":
    main()
