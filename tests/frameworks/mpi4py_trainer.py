"""mpi4py, whose import starts MPI: `mpi4py_trainer.py LR`."""

import toy
from mpi4py import MPI

world = MPI.COMM_WORLD
loss = world.allreduce(toy.RATE * (world.rank + 1)) / world.size
if world.rank == 0:
    toy.report(loss=loss, weight=-toy.RATE, world=world.size)
