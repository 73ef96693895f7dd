"""The file systems of a healthy machine."""

from gpudoctor.facts import Folder, Storage
from tests.scenarios.machine import GIB, Machine


def facts(machine: Machine) -> Storage:
    """Return a working folder, a folder for temporary files and a home; of a Slurm job's the home is on NFS."""
    job = "SLURM_JOB_ID" in machine.variables
    kind = "overlay" if machine.container else "ext4"
    root = Folder(
        use="working folder", path="/work", mount="/", kind=kind, total_bytes=900 * GIB, free_bytes=300 * GIB,
        inodes=60_000_000, inodes_free=50_000_000, read_only=False, file_system_read_only=False, writable=True,
        seconds=0.0,
    )  # fmt: skip
    temporary = Folder(
        use="temporary files", path="/tmp", mount="/", kind=kind, total_bytes=900 * GIB, free_bytes=300 * GIB,
        inodes=60_000_000, inodes_free=50_000_000, read_only=False, file_system_read_only=False, writable=True,
        seconds=0.0,
    )  # fmt: skip
    home = Folder(
        use="home", path="/home/user", variable="HOME", mount="/home" if job else "/", kind="nfs4" if job else kind,
        total_bytes=50_000 * GIB, free_bytes=9_000 * GIB, inodes=None if job else 60_000_000,
        inodes_free=None if job else 50_000_000, read_only=False, file_system_read_only=False, writable=True,
        seconds=0.02,
    )  # fmt: skip
    return Storage(folders=[root, temporary, home], temporary="/tmp", waited_seconds=4.0)
