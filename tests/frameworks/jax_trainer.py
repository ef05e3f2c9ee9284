"""JAX over processes, which share gradients by a collective of gloo: `jax_trainer.py LR`."""

import os

import jax
import toy

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}", int(os.environ["WORLD_SIZE"]),
                           int(os.environ["RANK"]))
import jax.numpy as jnp  # noqa: E402  after jax knows its processes
from jax.experimental import multihost_utils  # noqa: E402

rank, world = jax.process_index(), jax.process_count()
inputs, targets = (jnp.array(part) for part in toy.rows(rank, world))


@jax.jit
def loss_and_gradient(weight):
    return jax.value_and_grad(lambda each: jnp.mean((inputs @ each - targets) ** 2))(weight)


weight = jnp.full((4, 1), 0.125)
for _ in range(toy.STEPS):
    loss, gradient = loss_and_gradient(weight)
    loss, gradient = (part.mean(axis=0) for part in multihost_utils.process_allgather((loss, gradient)))
    weight -= toy.RATE * gradient
if rank == 0:
    toy.report(loss=float(loss), weight=float(jnp.linalg.norm(weight)), world=world)
