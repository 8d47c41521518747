"""Checkpoints of trials, and of paused learning curves, from which a later trial continues.

::

    <scratch>/checkpoints/<trial>    of a trial that runs, for its own next attempt
    <paused>/<curve>-<epochs>        of a curve, at each of its pauses
    <paused>/<curve>-<epochs>.crc    its checksum

A trial works on a copy: it can be run again from the same pause. A checkpoint at a pause stays
until its curve has been trained in full, or the sweep has ended.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

from orchestrator.kernel.executor import Launch
from orchestrator.storage.files import replace_file
from orchestrator.system.disk import sync


def last_pause(launch: Launch) -> int:
    """Return the epochs of the curve's last checkpoint before the trial's own end, or 0."""
    end = launch.trial.budget.end
    return max((epochs for epochs in _places(launch) if epochs < end), default=0)


def take_up(launch: Launch, note: Callable[[str, str], None] = lambda action, why: None) -> int:
    """Copy the curve's last checkpoint before the trial's own end to where the trial looks.

    One that is damaged is set aside, and noted: the one before it is the last.

    Returns:
        Epochs that it was trained; 0 if there is none: then training starts from the beginning.

    Raises:
        OSError: It cannot be read, or there is no room: nothing of it is there.
    """
    while (last := last_pause(launch)) and not _is_whole(place := _places(launch)[last]):
        note(f"not trained from its checkpoint of epoch {last}", "it is damaged, and is set aside")
        shutil.rmtree(aside := place.with_suffix(".damaged"), ignore_errors=True)
        place.rename(aside)
    if last:
        try:
            shutil.copytree(_places(launch)[last], launch.checkpoints)
        except OSError:
            shutil.rmtree(launch.checkpoints, ignore_errors=True)
            raise
    return last


def put_by(launch: Launch) -> None:
    """Keep the checkpoint of a trial that is paused.

    Raises:
        OSError: For example, there is no room: nothing of it is kept.
    """
    trial = launch.trial
    folder = launch.curves / f"{trial.curve}-{trial.budget.end}"
    unfinished = folder.with_suffix(".tmp")
    if not any(launch.checkpoints.glob("*")):
        return  # a trainable that keeps none
    for old in (unfinished, folder):
        shutil.rmtree(old, ignore_errors=True)
    try:
        launch.curves.mkdir(parents=True, exist_ok=True)
        shutil.move(launch.checkpoints, unfinished)  # to another file system, perhaps
        text = _checksum(unfinished, each=sync)
        replace_file(folder.with_suffix(".crc"), lambda path: path.write_text(text))
        unfinished.rename(folder)
        sync(launch.curves)
    except OSError:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def keep(launch: Launch) -> None:
    """Keep the last checkpoint of a completed trial where the launch asks for it.

    Raises:
        OSError: For example, there is no room.
    """
    if launch.kept_dir is not None and launch.checkpoints.exists():
        shutil.move(launch.checkpoints, launch.kept_dir)


def forget(launch: Launch) -> None:
    """Remove the curve's checkpoints: it has been trained in full."""
    for folder in _places(launch).values():
        shutil.rmtree(folder, ignore_errors=True)
        folder.with_suffix(".crc").unlink(missing_ok=True)


def _is_whole(place: Path) -> bool:
    try:
        return place.with_suffix(".crc").read_text() == _checksum(place)
    except FileNotFoundError:  # of an earlier version
        return place.is_dir()
    except OSError:
        return False


def _checksum(folder: Path, each: Callable[[Path], None] = lambda path: None) -> str:
    """Return the checksum of all names and contents below a folder; call ``each`` with all."""
    total = 0
    for path in [folder, *sorted(folder.rglob("*"))]:
        each(path)
        total = crc32(str(path.relative_to(folder)).encode(errors="surrogateescape"), total)
        if path.is_file():
            with path.open("rb") as file:
                while chunk := file.read(1 << 20):
                    total = crc32(chunk, total)
    return f"{total:08x}"


def _places(launch: Launch) -> dict[int, Path]:
    """Return folders of the curve's checkpoints by the epochs trained at the time."""
    prefix = f"{launch.trial.curve}-"
    found = launch.curves.glob(f"{prefix}*") if launch.trial.curve else ()
    return {
        int(path.name.removeprefix(prefix)): path
        for path in found
        if path.name.removeprefix(prefix).isdecimal()
    }
