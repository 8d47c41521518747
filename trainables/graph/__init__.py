"""Sampling, message passing and inference, for the graph trainables.

Sampling:

    sampling: neighbourhoods of seed nodes, layer by layer
    drawing: some neighbours of each node, uniformly or by LABOR
    randomness: random numbers that depend on what they are for
    minibatch: mini-batches, made where the features are
    relational: blocks with several relations
    relational_batches: mini-batches of those
    micro_batches: a step's batch in parts
    whole: the whole graph as one batch
    components: the largest component
    slots: shared memory from loader workers to the training process
    places: memory that the graph and its features are in
    on_device: sampling where the training is

Networks:

    adjacency: sources of each target, in plain tensors
    messages: sums, means and maxima over neighbours
    attention: attention over the edges of relational blocks
    layers: GraphSAGE's, dropout for the CPU, batch norm for batches of any size

Evaluation:

    evaluation: accuracy with all neighbours
    inference: layer by layer over all nodes
    training_state: a checkpoint, and the best network so far
    submission: predictions as MAG240M's evaluator reads them
"""
