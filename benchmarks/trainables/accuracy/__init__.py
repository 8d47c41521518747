"""Accuracy of the trainables beside plain PyTorch and DGL code of the same settings.

__main__: ``python -m benchmarks.trainables accuracy``
cases: a row each: trainable, data, settings, plain code, what is to be reached
runs: one training, ours or plain, and the file of those that are finished
blocks: nodes and edges of sampled blocks beside those of the study's sampler
difference: means, and the interval of their difference
page: the Markdown
"""
