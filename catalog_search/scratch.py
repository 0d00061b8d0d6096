"""A file that has no name until it is finished.

A build writes into a file that is unlinked as soon as it is open, and what is complete is copied to another
unnamed file, which gets its name by one rename. Whenever the process ends, by an error, a full disk or SIGKILL,
the old file is as it was and nothing is left beside it.

Twice, for less than a thousandth of a second, there is a name beside the target: until the new file is unlinked,
and from its link to its rename. It is always the same name, so that a later build takes over what a kill in that
moment left; and the folder is locked meanwhile, so that another build to the same target does not.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

try:
    import fcntl
except ImportError:  # Windows: a file that is open cannot be taken over there
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterable

_CHUNK = 1 << 24
_BINARY = getattr(os, "O_BINARY", 0)


class Scratch:
    """An unnamed file in the folder of the file it will become.

    Args:
        target: the file to be. A symbolic link is followed: what it points to is replaced.

    Raises:
        OSError: the folder does not exist or cannot be written to, or something else than a file is there: a rename
            would destroy a device or a pipe.
    """

    def __init__(self, target: str | os.PathLike[str]) -> None:
        if os.path.isdir(target):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if os.path.exists(target) and not os.path.isfile(target):
            raise OSError(errno.EINVAL, "it is a device or a pipe; name a file")
        self.target = Path(os.path.realpath(target))
        self.path = self.target.with_name(f".{self.target.name}.build")
        self._lock: int | None = None
        self._named = False
        self._take_name()
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
        except BaseException:
            self.forget_name()
            raise

    def _take_name(self) -> None:
        """Lock the folder against other builds, where that is possible, and remove what a killed one left."""
        if fcntl is not None and not self._named:
            self._lock = os.open(self.target.parent, os.O_RDONLY)
            with contextlib.suppress(OSError):
                fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._named = True
        with contextlib.suppress(OSError):
            self.path.unlink()

    def forget_name(self) -> None:
        """Unlink the file; call it once the database has it open. Where that is not possible, `close` does it."""
        if not self._named:
            return
        try:
            self.path.unlink()
        except FileNotFoundError:
            pass
        except OSError:
            return  # Windows: it is open
        self._named = False
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return os.fstat(self._file).st_size

    def publish(self) -> None:
        """Put a copy in the target's place, complete and on disk, or leave the target as it is.

        Raises:
            OSError: the disk is full, or the folder cannot be written to.
        """
        try:
            # Where files are always named (not Linux, some file systems), the copy has the name while it is filled.
            file = os.open(self.target.parent, os.O_TMPFILE | os.O_WRONLY, 0o666)
            named = False
        except (AttributeError, OSError):
            self._take_name()
            file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
            named = True
        try:
            self._fill(file)
            if not named:
                self._link(file)
        finally:
            os.close(file)
        os.replace(self.path, self.target)
        self.forget_name()

    def _link(self, file: int) -> None:
        """Give an unnamed file the scratch's name."""
        self._take_name()
        folder = os.open(self.target.parent, os.O_RDONLY)
        try:
            # With a folder's descriptor Python calls linkat, which can follow /proc's link to the open file.
            os.link(f"/proc/self/fd/{file}", self.path.name, dst_dir_fd=folder, follow_symlinks=True)
        finally:
            os.close(folder)

    def _fill(self, file: int) -> None:
        with contextlib.suppress(OSError, AttributeError):  # a file that is replaced keeps its permissions
            os.fchmod(file, self.target.stat().st_mode & 0o777)
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

    def write(self, content: bytes) -> None:
        """Append bytes."""
        view = memoryview(content)
        while view:
            view = view[os.write(self._file, view) :]


def write(target: str | os.PathLike[str], pieces: Iterable[bytes]) -> int:
    """Write a file, at once or not at all; a link to it stays one, and its permissions stay.

    Args:
        target: the file; what it holds is replaced.
        pieces: what it will hold. An error of theirs leaves it as it is.

    Returns:
        How many bytes it has.

    Raises:
        OSError: it cannot be written.
    """
    scratch = Scratch(target)
    try:
        scratch.forget_name()
        for piece in pieces:
            scratch.write(piece)
        size = scratch.size
        scratch.publish()
    finally:
        scratch.close()
    return size


def replace(target: str | os.PathLike[str], content: bytes, expected: bytes | None) -> None:
    """Replace what a file holds, at once or not at all; a link to it stays one, and its permissions stay.

    Args:
        target: the file.
        content: what it shall hold.
        expected: what it holds; None if it is not there.

    Raises:
        OSError: it cannot be written, or holds something else than expected: somebody saved it meanwhile.
    """
    scratch = Scratch(target)
    try:
        scratch.forget_name()
        scratch.write(content)
        if (scratch.target.read_bytes() if os.path.lexists(scratch.target) else None) != expected:
            raise OSError("it was changed by somebody else meanwhile; try again")
        scratch.publish()
    finally:
        scratch.close()
