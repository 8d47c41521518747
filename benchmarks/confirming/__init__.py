"""Differences of two equal configs from round to round, interleaved and one after another.

__main__: the benchmark
both_ways: a search whose rounds are interleaved and not, in alternation
graphsage, lenet: sweeps of two configs that compute the same
"""
