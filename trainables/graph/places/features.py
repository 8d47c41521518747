"""Feature table: rows of nodes, wherever these are, some of them in a cache on the GPU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from orchestrator import Phase
from trainables.graph.drawing import Ids
from trainables.graph.places.placement import PlacementKnobs, placed, require_room


@dataclass(frozen=True, kw_only=True)
class Cache:
    """Rows of the nodes with the most neighbours.

    Attributes:
        rows: ``(num_cached, features)``.
        places: Row of each node in ``rows``, -1 for the others, ``(num_nodes,)``.
    """

    rows: Tensor
    places: Tensor

    @classmethod
    def of(cls, features: Tensor, indptr: Ids, gib: float, device: torch.device) -> Cache:
        """The cache that fits into ``gib``; a node's place takes four bytes of it.

        Raises:
            MemoryError: The GPU has no room for it.
        """
        num_nodes = len(features)
        num_bytes = min(int(gib * 2**30), features.nbytes + 4 * num_nodes)
        require_room("cache_gib", num_bytes, device)
        num_cached = max((num_bytes - 4 * num_nodes) // features[:1].nbytes, 1)
        by_degree = np.argpartition(-np.diff(indptr), min(num_cached, num_nodes - 1))
        nodes = torch.from_numpy(np.sort(by_degree[:num_cached]))
        places = torch.full((num_nodes,), -1, dtype=torch.int32)
        places[nodes] = torch.arange(len(nodes), dtype=torch.int32)
        return cls(rows=features[nodes].to(device), places=places.to(device))


@dataclass(frozen=True, kw_only=True)
class FeatureTable:
    """Features of all nodes.

    Attributes:
        features: ``(num_nodes, features)``, where they are placed.
        in_loader: Whether batches arrive with their rows.
        is_remote: Whether rows come over the bus in the step.
        in_parts: Whether a batch's rows lie in several places, or on another device than the
            step, so that they must be gathered before they can be summed.
        cache: Some of them on the GPU, or None.
    """

    features: Tensor
    in_loader: bool = True
    is_remote: bool = False
    in_parts: bool = False
    cache: Cache | None = None

    @classmethod
    def of(
        cls, features: Tensor, indptr: Ids, config: PlacementKnobs, device: torch.device
    ) -> FeatureTable:
        """The table that a config asks for.

        Raises:
            MemoryError: The GPU has no room for it.
        """
        gib, place = config.cache_gib, config.feature_placement
        on_host = place in ("memmap", "host")
        in_loader = on_host and config.sampling == "cpu" and not gib
        return cls(
            features=placed(features, place, device),
            in_loader=in_loader,
            is_remote=not in_loader and place != "device",
            in_parts=not in_loader and (on_host or gib > 0),
            cache=Cache.of(features, indptr, gib, device) if gib else None,
        )

    @property
    def phase(self) -> Phase:
        """Phase of a step that a look-up belongs to: rows that cross the bus are a transfer."""
        return Phase.TRANSFER if self.is_remote else Phase.FORWARD

    def rows(self, nodes: Tensor) -> Tensor:
        """Features of ``nodes``, on their device."""
        if self.cache is None:
            return self._rows_from_place(nodes)
        places = self.cache.places[nodes]
        rows = self.cache.rows[places.clamp(min=0)]
        missing = (places < 0).nonzero().squeeze(1)
        return rows.index_copy_(0, missing, self._rows_from_place(nodes[missing]))

    def _rows_from_place(self, nodes: Tensor) -> Tensor:
        return self.features.index_select(0, nodes.to(self.features.device)).to(nodes.device)
