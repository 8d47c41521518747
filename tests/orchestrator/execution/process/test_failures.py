"""Exceptions of torch and the libraries below it, made up."""

import errno
import multiprocessing
import signal

import pytest
import torch

from orchestrator.errors import SweepFileError
from orchestrator.execution.process.failures import failure, lost_a_worker, may_end_otherwise
from orchestrator.trial import TrialState

CUDA = (
    "CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 23.64 GiB of "
    "which 1.12 GiB is free."
)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (torch.OutOfMemoryError(CUDA), "at step 8: OutOfMemoryError: CUDA"),
        (RuntimeError("CUDA error: out of memory"), "at step 8: RuntimeError: CUDA error"),
        (RuntimeError("CUBLAS_STATUS_ALLOC_FAILED when calling"), "at step 8: RuntimeError"),
        (
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate "
                         "4294967296 bytes. Error code 12"),
            "at step 8: RuntimeError: DefaultCPU",
        ),
        (RuntimeError("unable to mmap 268435600 bytes from file </torch_12_3_4>: Cannot allocate "
                      "memory (12)"), "at step 8: RuntimeError: unable to mmap"),
        (RuntimeError("unable to write to file </torch_12_3_4>: No space left on device (28)"),
         "at step 8: RuntimeError: unable to write"),
        (RuntimeError("unable to allocate shared memory(shm) for file </torch_1_2_3>: No space "
                      "left on device (28)"), "at step 8: RuntimeError: unable to allocate shared"),
        (RuntimeError("NCCL error: unhandled cuda error\nCuda failure 2 'out of memory'"),
         "at step 8: RuntimeError: NCCL"),
        (MemoryError(), "at step 8: MemoryError"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "at step 8: OSError"),
    ],
)  # fmt: skip
def test_a_lack_of_memory_is_infeasible(error: BaseException, message: str) -> None:
    outcome = failure(error, 7)
    assert outcome["state"] is TrialState.INFEASIBLE
    assert outcome["reason"].startswith(f"out of memory {message}")


def test_a_diverged_loss_is_infeasible() -> None:
    outcome = failure(FloatingPointError("loss is nan at step 3"), 2)
    assert outcome["state"] is TrialState.INFEASIBLE
    assert outcome["reason"] == "FloatingPointError: loss is nan at step 3"


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        RuntimeError("shapes differ"),
        RuntimeError("writing a checkpoint: No space left on device"),
        OSError(errno.ENOENT, "no file"),
        OSError(errno.ENOSPC, "No space left on device"),
    ],
)
def test_any_other_error_is_a_failure(error: Exception) -> None:
    assert failure(error, 3)["state"] is TrialState.FAILED


def test_a_killed_worker_is_lost_and_a_crashed_one_is_not() -> None:
    assert lost_a_worker("RuntimeError: DataLoader worker (pid 12) is killed by signal: Killed. ")
    assert not lost_a_worker("RuntimeError: DataLoader worker (pid 12) is killed by signal: Abort.")


@pytest.mark.parametrize(
    "error",
    [ConnectionResetError(errno.ECONNRESET, "reset"), RuntimeError("DataLoader worker exited")],
)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_killed_worker_is_named_with_its_signal(error: Exception) -> None:
    worker = multiprocessing.get_context("fork").Process(target=signal.raise_signal, args=(9,))
    worker.start()
    reason = failure(error, 3)["reason"]
    worker.join()
    assert f"DataLoader worker (pid {worker.pid}) is killed by signal: Killed" in reason
    assert "/dev/shm" in reason
    assert "killed by signal" not in failure(error, 3)["reason"]
    assert lost_a_worker(reason)


def raised_from(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error",
    [
        TypeError("unsupported operand"), SweepFileError("wrong"),
        RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"),
        RuntimeError("anything else"),
    ],
)  # fmt: skip
def test_what_is_of_the_code_itself_ends_the_same_again(error: Exception) -> None:
    assert not may_end_otherwise(error, None)
    assert not may_end_otherwise(error, 0)
    assert not failure(error, 0)["again"]
    assert may_end_otherwise(error, 1), "it has come further than its first step"


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EIO, "Input/output error"), ConnectionResetError("peer"), TimeoutError("it"),
        EOFError("in the middle"), MemoryError(),
        RuntimeError("CUDA error: an illegal memory access"),
        RuntimeError("DataLoader worker (pid 3) exited unexpectedly with code 1, shape"),
        RuntimeError("[gloo] connect timed out, shape"), RuntimeError("can't start new thread"),
        AssertionError("can only test a child process"),
        raised_from(ValueError("cannot be read"), OSError(errno.ENOSPC, "No space left on device")),
    ],
)  # fmt: skip
def test_what_the_machine_may_have_caused_may_end_otherwise(error: Exception) -> None:
    assert may_end_otherwise(error, None)
    assert may_end_otherwise(error, 0)


PEER = "[gloo/transport/tcp/pair.cc:561] Connection closed by peer [127.0.0.1]:37781."


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RuntimeError(PEER), True),
        (torch.distributed.DistBackendError("NCCL communicator was aborted"), True),
        (torch.distributed.DistStoreError("Timed out after 31 seconds waiting for clients"), True),
        (ValueError("rank one is unhappy"), False),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (RuntimeError("DataLoader timed out after 5 seconds"), False),
        (ConnectionResetError("of a data base of the user's"), False),
    ],
)
def test_an_error_of_another_rank_is_known(error: Exception, expected: bool) -> None:
    assert failure(error, 3)["lost_a_rank"] is expected
