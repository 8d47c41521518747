"""``.npy`` files written a piece at a time, so that no array need fit in memory."""

from __future__ import annotations

import io
from pathlib import Path
from types import TracebackType

import numpy as np
import numpy.typing as npt

from trainables.data.formats.arrays import Array

_LONGEST = 2**62


class ArrayWriter:
    """Writer of rows, one piece after the other; how many there are is known at the end.

    Args:
        path: The file.
        dtype: Type of the items.
        row: Shape of a row; ``()`` for numbers.
    """

    def __init__(self, path: Path, dtype: npt.DTypeLike, row: tuple[int, ...] = ()) -> None:
        self._dtype, self._row = np.dtype(dtype), row
        self._num_rows = 0
        self._file = path.open("wb")
        self._file.write(self._header(_LONGEST))

    @property
    def num_rows(self) -> int:
        """Rows written so far."""
        return self._num_rows

    def append(self, rows: Array) -> None:
        """Write ``rows``, with a row's shape after the first dimension."""
        assert rows.shape[1:] == self._row, f"rows of {self._row}, but got {rows.shape[1:]}"
        np.ascontiguousarray(rows, dtype=self._dtype).tofile(self._file)
        self._num_rows += len(rows)

    def flush(self) -> None:
        """Make the file a whole array of the rows so far; more may follow."""
        self._file.seek(0)
        self._file.write(self._header(self._num_rows))
        self._file.seek(0, io.SEEK_END)
        self._file.flush()

    def __enter__(self) -> ArrayWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.flush()
        self._file.close()

    def _header(self, num_rows: int) -> bytes:
        """Return a header of one length, whatever the number: numpy leaves room for it to grow."""
        written = io.BytesIO()
        fields = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (num_rows, *self._row),
        }
        np.lib.format.write_array_header_1_0(written, fields)
        return written.getvalue()
