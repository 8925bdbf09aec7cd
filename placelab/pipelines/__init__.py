"""Pipelined training steps: their graphs, the columns that tell micro-batch, stage and phase, orders of a device's ops.

``graph.metadata["pipeline"]`` is a dict of lists with an entry per op: ``microbatch`` (whole number from 0, -1 for an op
that runs once per step), ``stage`` (whole number from 0, -1 for an op of no stage), ``replica`` (whole number from 0, the copy of
the pipeline; may be left out where there is one), ``added`` (bytes of gradients that an update only adds to others, of weights
that several stages use; may be left out where there are none), ``phase``:

======  ====================================================================================================
``F``   forward pass of a micro-batch through a stage
``B``   gradient of the stage's input
``W``   gradient of its weights
``BW``  both in one op
``RF``  Receive that precedes a forward op, where a Receive holds the device (``recv="blocking"``)
``RB``  Receive that precedes a backward op
``P``   what depends on no input of the model, once per step
``AR``  all-reduce of the gradients of weights over replicas, once per step
``U``   update of the weights, once per step
======  ====================================================================================================
"""
