"""Write a file whole or not at all, its large parts copied from another file in blocks by the kernel."""

import errno
import os
import secrets
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpudoctor.checkpoint.tree import BLOCK, Heard, Unreadable, unheard

KERNEL_BLOCK = 64 << 20
"""Bytes that the kernel copies at a time: a signal is answered between two."""
EACH = 256 << 20
"""Bytes after which the disk is asked to write what is there."""
SMALL = 64 << 10
"""Bytes up to which a part is read and written with what stands around it: one call for many parts."""
NOT_HERE = {errno.ENOSYS, errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF}
"""What the kernel answers where it cannot copy between two files: other file systems, old kernels."""


class Target:
    """A file that is being written, of about `size` bytes; `position` counts them, and `heard` is told of it."""

    def __init__(self, descriptor: int, size: int, heard: Heard) -> None:
        self.descriptor, self.position = descriptor, 0
        self._size, self._heard = size, heard
        self._pending = bytearray()
        self._ways = [_by_range, _by_sendfile]
        self._asked = 0
        self._failed: OSError | None = None
        self._syncing: threading.Thread | None = None

    def write(self, data: bytes) -> None:
        """Add bytes."""
        self.position += len(data)
        self._pending += data
        if len(self._pending) >= BLOCK:
            self.flush()

    def flush(self) -> None:
        """Hand the kernel what is still here."""
        _write(self.descriptor, self._pending)
        self._pending = bytearray()

    def copy(self, source: int, at: int, size: int) -> None:
        """Add `size` bytes of another file from byte `at` on; raises `Unreadable` where they are not there."""
        if size <= SMALL:
            self.write(exactly(source, at, size))
            return
        self.flush()
        end = at + size
        while at < end:
            copied = self._some(source, at, min(KERNEL_BLOCK, end - at))
            at += copied
            self.position += copied
            self._heard(self.position, self._size)
        self._sync_meanwhile()

    def copy_summed(self, source: int, at: int, size: int) -> int:
        """Add bytes of another file, and return their CRC-32, for which they must be read."""
        crc = 0
        for begin in range(at, at + size, BLOCK):
            data = exactly(source, begin, min(BLOCK, at + size - begin))
            crc = zlib.crc32(data, crc)
            self.write(data)
            self._heard(self.position, self._size)
        return crc

    def wait_for_disk(self) -> None:
        """Wait until all bytes are on the disk; raises OSError where they cannot be."""
        self.flush()
        self.wait_for_sync()
        if self._failed is not None:
            raise self._failed
        os.fsync(self.descriptor)

    def wait_for_sync(self) -> None:
        """Wait until nothing uses the file any more."""
        if self._syncing is not None:
            self._syncing.join()

    def _sync_meanwhile(self) -> None:
        """Let the disk write what is there while more is copied: the wait at the end is then short."""
        if self.position - self._asked < EACH or (self._syncing is not None and self._syncing.is_alive()):
            return
        self._asked = self.position
        self._syncing = threading.Thread(target=self._sync, daemon=True)
        self._syncing.start()

    def _sync(self) -> None:
        try:
            os.fdatasync(self.descriptor)
        except OSError as error:  # the kernel tells of a failed write once
            self._failed = error

    def _some(self, source: int, at: int, size: int) -> int:
        while self._ways:
            try:
                copied = self._ways[0](source, self.descriptor, at, size)
            except OSError as error:
                if error.errno not in NOT_HERE:
                    raise
                copied = 0
            if copied:
                return copied
            del self._ways[0]  # some file systems answer 0 for what they cannot do
        data = exactly(source, at, min(BLOCK, size))
        _write(self.descriptor, data)
        return len(data)


def _write(descriptor: int, data: bytes | bytearray) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _by_range(source: int, target: int, at: int, size: int) -> int:
    if not hasattr(os, "copy_file_range"):
        return 0
    return os.copy_file_range(source, target, size, offset_src=at)


def _by_sendfile(source: int, target: int, at: int, size: int) -> int:
    return os.sendfile(target, source, at, size)


def exactly(source: int, at: int, size: int) -> bytes:
    """Return bytes of a file; raises `Unreadable` where it ends before them."""
    data = os.pread(source, size, at)
    while len(data) < size:
        more = os.pread(source, size - len(data), at + len(data))
        if not more:
            raise Unreadable("it became shorter while it was copied")
        data += more
    return data


@contextmanager
def whole(path: str, size: int, heard: Heard = unheard) -> Iterator[Target]:
    """Give a `Target` that becomes the file `path` when the block ends without an exception, and nothing otherwise.

    About `size` bytes are to be written: raises `Unreadable` at once where there is no room for them. `heard` is told
    how many are. They are on the disk before the name is there. Raises OSError as the system does.
    """
    final = Path(path).resolve()
    room = os.statvfs(final.parent)
    if room.f_bavail * room.f_frsize < size:
        free = room.f_bavail * room.f_frsize
        raise Unreadable(f"{path}: no room: it needs {size:,} bytes, and {free:,} are free")
    # The name is known before the file is there: a signal can come at any moment, and must not leave it.
    name = final.parent / f".gpudoctor-{secrets.token_hex(8)}"
    try:
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        target = Target(descriptor, size, heard)
        try:
            yield target
            target.wait_for_disk()
        finally:
            target.wait_for_sync()
            os.close(descriptor)
        os.replace(name, final)
    except BaseException:
        name.unlink(missing_ok=True)
        raise
    folder = os.open(final.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system whose folders need no such call
            raise
    finally:
        os.close(folder)
