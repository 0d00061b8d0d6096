"""A file that has no name until it is finished.

A build writes into a file that is unlinked as soon as it is open, and what is complete is copied to another
unnamed file, which gets its name by one rename. Whenever the process ends, by an error, a full disk or SIGKILL,
the old file is as it was and nothing is left beside it.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK = 1 << 24


class Scratch:
    """An unnamed file in the folder of the file it will become.

    Args:
        target: the file to be. A symbolic link is followed: what it points to is replaced.

    Raises:
        OSError: the folder does not exist or cannot be written to.
    """

    def __init__(self, target: str | os.PathLike[str]) -> None:
        self.target = Path(os.path.realpath(target))
        # The name is seen for a moment only, and is always the same: a later build takes it over.
        self.path = self.target.with_name(f".{self.target.name}.build")
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600)

    def forget_name(self) -> None:
        """Unlink the file; call it once the database has it open. Where that is not possible, `close` does it."""
        with contextlib.suppress(OSError):
            self.path.unlink()

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return os.fstat(self._file).st_size

    def publish(self) -> None:
        """Put a copy in the target's place, complete and on disk, or leave the target as it is.

        Raises:
            OSError: the disk is full, or the folder cannot be written to.
        """
        with self._copy() as copy:
            os.replace(copy, self.target)

    @contextlib.contextmanager
    def _copy(self) -> Iterator[Path]:
        """Yield the path of a copy, linked only when it is complete."""
        try:
            file = os.open(self.target.parent, os.O_TMPFILE | os.O_WRONLY, 0o666)
        except (AttributeError, OSError):  # not on this system, or not on this file system
            file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            named = True
        else:
            named = False
        try:
            self._fill(file)
            if not named:
                self._link(file)
            yield self.path
        except BaseException:
            with contextlib.suppress(OSError):
                self.path.unlink()
            raise
        finally:
            os.close(file)

    def _link(self, file: int) -> None:
        """Give an unnamed file the scratch's name."""
        self.forget_name()
        folder = os.open(self.target.parent, os.O_RDONLY)
        try:
            # With a folder's descriptor Python calls linkat, which can follow /proc's link to the open file.
            os.link(f"/proc/self/fd/{file}", self.path.name, dst_dir_fd=folder, follow_symlinks=True)
        finally:
            os.close(folder)

    def _fill(self, file: int) -> None:
        os.lseek(self._file, 0, os.SEEK_SET)
        while chunk := os.read(self._file, _CHUNK):
            view = memoryview(chunk)
            while view:
                view = view[os.write(file, view) :]
        os.fsync(file)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)
        self.forget_name()
