"""What NumPy and torch are in forks of a process that has imported them."""

import os
import sys
import unittest

from package_case import PackageCase

import skyline

MODULE = """
import os, sys, numpy, torch
AT_IMPORT = torch.get_num_threads()

def draws(depth):
    numpy.ones((300, 300)) @ numpy.ones((300, 300)), torch.ones(300, 300) @ torch.ones(300, 300)
    print("drawn", AT_IMPORT, torch.get_num_threads(), numpy.random.rand(), float(torch.rand(1)), "torch._dynamo" in sys.modules, flush=True)
    return depth
"""


class ForkedLibraries(PackageCase):
    def test_each_trial_has_its_number_of_threads_and_draws_of_its_own(self):
        (self.folder / "draws_numbers.py").write_text(MODULE)
        threads = min(2, len(os.sched_getaffinity(0)))
        sys.path.insert(0, str(self.folder))
        from draws_numbers import draws

        run = skyline.search({"depth": [1, 2, 3]}, draws, maximize="score", folder=self.name(), quiet=True, search={"algorithm": "exhaustive"},
                             command={"threads": threads}).wait()
        drawn = [run.log(row["trial"]).split()[1:] for row in run.rows]
        self.assertEqual({tuple(line[:2]) for line in drawn}, {("1", str(threads))})
        self.assertEqual([len({line[which] for line in drawn}) for which in (2, 3)], [3, 3])
        self.assertEqual({line[4] for line in drawn}, {"True"}, "what optimizers import at their first step is paid once")


if __name__ == "__main__":
    unittest.main()
