"""Mounts as the kernel lists them, of made-up machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.execution.leases import CoreLeases
from orchestrator.system.containers import is_private
from orchestrator.trial import Isolation

OVERLAY = "21 20 0:34 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/docker/l/A"
DISK = "21 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw"
VOLUME = "40 21 254:1 /srv/locks /tmp rw,relatime - ext4 /dev/vda1 rw"
MEMORY = "41 21 0:40 / /tmp rw,nosuid,nodev - tmpfs tmpfs rw"
OF_A_POD = (
    "43 21 254:1 /var/lib/kubelet/pods/9b1/volumes/kubernetes.io~empty-dir/tmp /tmp rw - ext4 "
    "/dev/vda1 rw"
)
ONE_BELOW = "42 21 254:1 /srv/locks /tmp/sweep-cores rw master:2 propagate_from:1 - xfs /dev/b rw"


def listed(folder: Path, *lines: str) -> Path:
    mounts = folder / "mountinfo"
    mounts.write_text("\n".join(lines) + "\n")
    return mounts


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param([DISK], False, id="a machine"),
        pytest.param([DISK, MEMORY], False, id="a machine with /tmp in memory"),
        pytest.param([OVERLAY], True, id="a container"),
        pytest.param([OVERLAY, MEMORY], True, id="a container with /tmp in memory"),
        pytest.param([OVERLAY, VOLUME], False, id="a container with the host's folder for /tmp"),
        pytest.param([OVERLAY, OF_A_POD], True, id="a pod with a /tmp of its own"),
        pytest.param([OVERLAY, MEMORY, ONE_BELOW], False, id="the host's folder within /tmp"),
        pytest.param([OVERLAY, MEMORY, VOLUME], False, id="of two mounts the later one is seen"),
        pytest.param(["nothing that can be read"], False, id="nothing is said"),
    ],
)
def test_a_folder_that_no_other_container_sees(
    tmp_path: Path, lines: list[str], expected: bool
) -> None:
    mounts = listed(tmp_path, *lines)
    assert is_private(Path("/tmp/sweep-cores"), mounts=mounts) is expected


def test_without_mounts_a_folder_is_common(tmp_path: Path) -> None:
    assert not is_private(Path("/tmp"), mounts=tmp_path / "absent")


def test_in_a_container_nothing_is_leased_unless_a_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = listed(tmp_path, OVERLAY)
    monkeypatch.setattr(
        "orchestrator.execution.leases.is_private", lambda f: is_private(f, mounts=mounts)
    )
    named = CoreLeases(cores=[0]).acquire(1, Isolation.LEASED, timeout_s=0)
    assert named is not None, "$SWEEP_LEASES names one in all tests"
    assert (named.isolation, named.note) == (Isolation.LEASED, "")
    named.release()
    monkeypatch.delenv("SWEEP_LEASES")
    monkeypatch.setattr("orchestrator.execution.leases.lease_folder", lambda: tmp_path / "locks")
    leases = CoreLeases(cores=[0])
    for asked in (Isolation.LEASED, Isolation.EXCLUSIVE):
        found = leases.acquire(1, asked, timeout_s=0)
        assert found is not None
        assert found.isolation is Isolation.SHARED
        assert "is this container's own" in found.note
        assert "$SWEEP_LEASES" in found.note
        # Not bound, it keeps away from who is alone on the node all the same.
        isolated = CoreLeases(tmp_path / "locks", [0]).acquire(1, Isolation.EXCLUSIVE, timeout_s=0)
        assert isolated is None
        found.release()
    asked_for_nothing = leases.acquire(1, Isolation.SHARED, timeout_s=0)
    assert asked_for_nothing is not None
    assert asked_for_nothing.note == ""
    asked_for_nothing.release()
