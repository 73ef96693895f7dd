"""The file systems that training writes to and reads from."""

from msgspec import Struct

NETWORKED = (
    "nfs", "nfs4", "lustre", "ceph", "gpfs", "beegfs", "cifs", "smb3", "glusterfs", "wekafs", "panfs", "pvfs2", "afs",
)  # fmt: skip
"""Types of file systems that lie on other machines; those of user programs (``fuse.sshfs``) come beside them."""


class Folder(Struct, frozen=True, kw_only=True):
    """A folder that training uses, or the mount point of a network file system."""

    use: str
    """``working folder``, ``temporary files``, ``home``, the name of a cache's variable, or ``mount``."""
    path: str
    variable: str = ""
    """The environment variable that names it."""
    mount: str = ""
    """Where its file system is mounted."""
    kind: str = ""
    """Type of its file system: ``ext4``, ``overlay``, ``nfs4`` …"""
    total_bytes: int | None = None
    free_bytes: int | None = None
    """Free to this user."""
    inodes: int | None = None
    """``None``: the file system does not count them."""
    inodes_free: int | None = None
    read_only: bool | None = None
    """Mounted read-only here."""
    file_system_read_only: bool | None = None
    """The file system itself is, as ext4 makes it after an error."""
    no_exec: bool | None = None
    """Mounted ``noexec``: no program that lies there can be run, no library loaded."""
    writable: bool | None = None
    """This process may write there (``access``)."""
    makeable: bool | None = None
    """It is not there, and this process could make it; ``None``: it is there, or that is not known."""
    stalled: bool = False
    """It did not answer within the deadline."""
    error: str | None = None
    """Why it cannot be looked at: ``No such file or directory``, ``Stale file handle`` …"""
    error_code: int | None = None
    """``errno`` of it."""
    seconds: float | None = None
    """How long it took to answer."""

    @property
    def networked(self) -> bool:
        """Whether its file system lies on another machine, or behind a program."""
        return self.kind in NETWORKED or self.kind.startswith("fuse")


class Storage(Struct, frozen=True, kw_only=True):
    """Working folder, temporary folder, home, caches, and network file systems."""

    folders: list[Folder] = []
    temporary: str | None = None
    """Where Python puts temporary files (``tempfile.gettempdir``); ``None``: no folder will do."""
    waited_seconds: float | None = None
    """How long a folder was given to answer."""

    def of(self, use: str) -> Folder | None:
        """Return the folder of a use, or ``None``."""
        return next((f for f in self.folders if f.use == use), None)
