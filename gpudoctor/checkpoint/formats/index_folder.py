"""Open the files that an index names, and none outside of its folder."""

import os
import stat
from typing import BinaryIO

from gpudoctor.checkpoint.tree import Unreadable


def plain(name: str) -> str:
    """Return the one spelling of a name, so that a file is read once; a name that leads out of the folder as it is."""
    return os.path.normpath(name) if name and ".." not in name.split("/") else name


def opened(folder: str, name: str) -> tuple[BinaryIO, int]:
    """Open a file that an index names, and return it with its size in bytes; raises `Unreadable`.

    A name that leads out of the folder is refused. A symbolic link is followed: the Hugging Face cache is made of them.
    """
    if not name or name.startswith("/") or "\0" in name or ".." in name.split("/"):
        raise Unreadable("its name leads out of the folder, and it is not opened")
    path = os.path.join(folder, name)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # before it is opened: opening a pipe would wait
            raise Unreadable("not a file")
        file = open(path, "rb")
        return file, os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        raise Unreadable("missing") from None
    except OSError as error:
        raise Unreadable(error.strerror or type(error).__name__) from None
    except ValueError:
        raise Unreadable("a name that no file can have") from None
