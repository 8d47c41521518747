"""Signals at moments of a run; right is the exit code ``128 + number``."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Signal:
    """A signal at a moment.

    Attributes:
        number: It.
        moment: ``start``: once the driver is a process, ``Ray``: once one of its processes is
            there, ``middle``: once a trial has finished, ``end``: once all have.
        whom: ``driver``, ``group`` or ``all`` processes below it.
        delay_s: Time between the moment and the signal.
    """

    number: signal.Signals
    moment: str
    whom: str
    delay_s: float = 0.0

    @property
    def name(self) -> str:
        """Return it in words."""
        return f"{self.number.name} to {self.whom}, {self.moment} +{self.delay_s:g} s"


SIGNALS: Final = (
    Signal(number=signal.SIGINT, moment="start", whom="driver", delay_s=0.05),
    Signal(number=signal.SIGINT, moment="start", whom="group", delay_s=0.4),
    Signal(number=signal.SIGTERM, moment="start", whom="driver", delay_s=0.4),
    Signal(number=signal.SIGTERM, moment="start", whom="group", delay_s=1.0),
    Signal(number=signal.SIGHUP, moment="start", whom="group", delay_s=1.5),
    Signal(number=signal.SIGQUIT, moment="start", whom="group", delay_s=1.0),
    Signal(number=signal.SIGTERM, moment="Ray", whom="all"),
    Signal(number=signal.SIGINT, moment="Ray", whom="group", delay_s=1.0),
    Signal(number=signal.SIGUSR1, moment="Ray", whom="all", delay_s=2.0),
    Signal(number=signal.SIGHUP, moment="Ray", whom="driver", delay_s=0.5),
    Signal(number=signal.SIGQUIT, moment="Ray", whom="all", delay_s=0.5),
    Signal(number=signal.SIGQUIT, moment="middle", whom="driver"),
    Signal(number=signal.SIGQUIT, moment="middle", whom="group"),
    Signal(number=signal.SIGQUIT, moment="middle", whom="all"),
    Signal(number=signal.SIGUSR2, moment="middle", whom="all"),
    Signal(number=signal.SIGALRM, moment="middle", whom="driver"),
    Signal(number=signal.SIGXCPU, moment="middle", whom="all"),
    Signal(number=signal.SIGHUP, moment="middle", whom="all"),
    Signal(number=signal.SIGTERM, moment="end", whom="all"),
    Signal(number=signal.SIGINT, moment="end", whom="group"),
    Signal(number=signal.SIGUSR1, moment="end", whom="group", delay_s=0.3),
    Signal(number=signal.SIGHUP, moment="end", whom="driver", delay_s=0.6),
    Signal(number=signal.SIGQUIT, moment="end", whom="all", delay_s=0.2),
    Signal(number=signal.SIGTERM, moment="end", whom="driver", delay_s=1.0),
)
