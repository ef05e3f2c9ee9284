"""TensorFlow's MultiWorkerMirroredStrategy with a loop of its own, since `fit` of Keras 3 does not support it."""

import json
import os

import tensorflow as tf
import toy

strategy = tf.distribute.MultiWorkerMirroredStrategy()
rank = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
world = strategy.num_replicas_in_sync
inputs, targets = (tf.constant(part) for part in toy.rows(rank, world))
with strategy.scope():
    weight = tf.Variable(tf.ones([4, 1]) / 8)


@tf.function
def step():
    def train():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(inputs @ weight - targets))
        gradient = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, tape.gradient(loss, weight))
        tf.distribute.get_replica_context().merge_call(
            lambda _, value, change: strategy.extended.update(value, lambda one, by: one.assign_sub(by), args=(change,)),
            args=(weight, toy.RATE * gradient))
        return loss
    return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.run(train), axis=None)


for _ in range(toy.STEPS):
    loss = step()
if rank == 0:
    toy.report(loss=float(loss), weight=float(tf.norm(weight.read_value())), world=world)
