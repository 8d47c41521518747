"""Network of this node: the interface that has an address."""

from __future__ import annotations

import psutil

LOOPBACK = "127.0.0.1"


def interface_of(address: str) -> str:
    """Return the name of the interface with ``address``, or an empty string."""
    for name, addresses in psutil.net_if_addrs().items():
        if any(each.address == address for each in addresses):
            return name
    return ""
