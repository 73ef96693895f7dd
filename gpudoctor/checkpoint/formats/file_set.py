"""What checkpoints of several files share: opening those that an index names, keeping their storages apart."""

import os
import stat
from typing import Any, BinaryIO

from msgspec.structs import replace

from gpudoctor.checkpoint.tree import DEEPEST, Call, Tensor, Unreadable


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


def apart(root: Any, name: str) -> Any:
    """Return a tree whose storages' keys begin with `name` and a slash: each file counts its own from 0.

    Dicts, lists and calls are changed in place.
    """
    return _apart(root, name, {}, 0)


def _apart(node: Any, name: str, done: dict[int, Any], depth: int) -> Any:
    if isinstance(node, Tensor):
        storage = node.storage and replace(node.storage, key=f"{name}/{node.storage.key}")
        return replace(
            node, storage=storage, parts=tuple(_apart(p, name, done, depth + 1) for p in node.parts)
        )
    if not isinstance(node, (dict, list, tuple, Call)) or depth > DEEPEST:
        return node
    if id(node) in done:
        return done[id(node)]
    done[id(node)] = node  # before its children, which may hold it
    if isinstance(node, tuple):
        done[id(node)] = made = tuple(_apart(child, name, done, depth + 1) for child in node)
        return made
    if isinstance(node, list):
        node[:] = [_apart(child, name, done, depth + 1) for child in node]
    elif isinstance(node, dict):
        for key, child in node.items():
            node[key] = _apart(child, name, done, depth + 1)
    else:
        for held in (node.items, node.pairs):
            _apart(held, name, done, depth + 1)
        node.state = _apart(node.state, name, done, depth + 1)
    return node
