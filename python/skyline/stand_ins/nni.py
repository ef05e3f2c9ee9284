"""`import nni` and `from nni.utils import merge_parameter` of a trial that `python3 -m skyline.nni` has started."""

import sys

import skyline.nni

sys.modules["nni"] = sys.modules["nni.utils"] = skyline.nni
