"""Random numbers that depend on what they are for, and on nothing else.

Each is a hash of a key (seed, epoch, batch, layer) and of the node it is drawn for. So
it does not matter which process, thread or rank draws it, nor how many there are: a
setting that changes speed only cannot change what is sampled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_U64 = np.uint64
_MASK = 2**64 - 1
GOLDEN_64, GOLDEN_32 = 0x9E3779B97F4A7C15, 0x9E3779B9
MIX_64 = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""Factors of the finalizer of SplitMix64."""
MIX_32 = (0x85EBCA6B, 0xC2B2AE35)
"""Factors of the finalizer of MurmurHash3."""


def key_of(*parts: int) -> int:
    """A 64-bit key of some whole numbers, all of which matter, as does their order."""
    key = 0
    for part in parts:
        key = int(_mix64(np.array([(key + part + GOLDEN_64) & _MASK], dtype=_U64))[0])
    return key


def random_bits(nodes: NDArray[np.int64], count: int, key: int) -> NDArray[np.uint64]:
    """``count`` random whole numbers below 2**32 for each of ``nodes``.

    Returns:
        ``(len(nodes), count)``.
    """
    states = nodes.astype(_U64)
    states *= _U64(GOLDEN_64)
    states += _U64(key)
    lanes = np.arange(count, dtype=np.uint32) * np.uint32(GOLDEN_32)
    bits = _mix64(states).astype(np.uint32)[:, None] + lanes
    return _mix32(bits).astype(_U64)


def below(bits: NDArray[np.uint64], limit: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scale random ``bits`` to whole numbers from 0 to ``limit`` - 1.

    Lemire's multiplication and shift, without its rejection: no number is more likely than
    another by more than ``limit`` / 2**32. "Fast random integer generation in an interval",
    ACM TOMACS 29(1), 2019.
    """
    scaled = bits * limit
    scaled >>= _U64(32)
    return scaled


def _mix64(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of SplitMix64. Changes ``x``."""
    x ^= x >> _U64(30)
    x *= _U64(MIX_64[0])
    x ^= x >> _U64(27)
    x *= _U64(MIX_64[1])
    x ^= x >> _U64(31)
    return x


def _mix32(x: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The finalizer of MurmurHash3. Changes ``x``."""
    x ^= x >> np.uint32(16)
    x *= np.uint32(MIX_32[0])
    x ^= x >> np.uint32(13)
    x *= np.uint32(MIX_32[1])
    x ^= x >> np.uint32(16)
    return x
