"""Folders of made-up containers, by the kernel's list of mounts."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.system.containers import is_private

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
        pytest.param(["nothing that can be read"], False, id="an unreadable list"),
    ],
)
def test_a_folder_that_no_other_container_sees(
    tmp_path: Path, lines: list[str], expected: bool
) -> None:
    mounts = listed(tmp_path, *lines)
    assert is_private(Path("/tmp/sweep-cores"), mounts=mounts) is expected


def test_without_mounts_a_folder_is_common(tmp_path: Path) -> None:
    assert not is_private(Path("/tmp"), mounts=tmp_path / "absent")
