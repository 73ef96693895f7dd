"""Read control groups of version 1 and 2: this process's own, and those above it."""

import re
from collections.abc import Iterator
from pathlib import Path

from gpudoctor.facts import Cgroup
from gpudoctor.probes._files import field, number, text

UNLIMITED = 1 << 60
"""Version 1 has no word for it: a limit that no machine reaches is none (LONG_MAX rounded down to a page)."""
# mountinfo (proc_pid_mountinfo(5)): root of the mount, mount point, "-", type, source, options of the file system.
MOUNT = re.compile(
    r"^\d+ \d+ \S+ (?P<root>\S+) (?P<point>\S+) .* - (?P<kind>cgroup2?) \S+ (?P<options>\S*)", re.MULTILINE
)


class Groups:
    """The folders of this process's control groups, the own one first, then those above it."""

    def __init__(self, root: Path) -> None:
        own = {}
        for line in text(root / "proc/self/cgroup").splitlines():
            _, controllers, path = line.split(":", 2)
            own.update(dict.fromkeys(controllers.split(","), path))
        mounts = {}
        for match in MOUNT.finditer(text(root / "proc/self/mountinfo")):
            names = [""] if match["kind"] == "cgroup2" else match["options"].split(",")
            mounts.update(dict.fromkeys(names, (match["root"], match["point"])))
        self._root, self._own, self._mounts = root, own, mounts

    @property
    def path(self) -> str:
        """The own path: of version 2, or of the memory controller."""
        unified = self._own.get("", "")
        return unified if unified not in ("", "/") else self._own.get("memory", unified)

    def folders(self, controller: str) -> Iterator[Path]:
        """Yield the folders that count for a controller; "" means version 2."""
        default = "sys/fs/cgroup" + (f"/{controller}" if controller else "")
        inside, point = self._mounts.get(controller, ("/", f"/{default}"))
        base = self._root / point.lstrip("/")
        path = self._own.get(controller, "/")
        # Without a namespace of its own a container is told its path on the host, and sees that alone as the root.
        within = path.removeprefix(inside.rstrip("/")) if path.startswith(inside) else "/"
        folder = base / within.lstrip("/") if ".." not in within else base
        while folder != base and base in folder.parents:
            if folder.is_dir():
                yield folder
            folder = folder.parent
        yield base
        if base != self._root / default and (self._root / default).is_dir():
            yield self._root / default

    def each(self, name: str, controller: str, old: str) -> Iterator[tuple[int, str]]:
        """Yield version and content of a file in each folder: of version 2 by its `name`, of version 1 as `old`."""
        for version, of, file in ((2, "", name), (1, controller, old)):
            for folder in self.folders(of):
                if content := text(folder / file):
                    yield version, content


def cgroup(root: Path) -> Cgroup | None:
    """Return the tightest limits, or ``None`` where there are no control groups."""
    groups = Groups(root)
    memory = _memory(groups)
    high = min(_highs(groups), key=lambda one: one[0], default=None)
    pids = _pids(groups)
    quotas = list(_quotas(groups))
    cpus = next((c for _, c in groups.each("cpuset.cpus.effective", "cpuset", "cpuset.effective_cpus")), "")
    mems = next((c for _, c in groups.each("cpuset.mems.effective", "cpuset", "cpuset.effective_mems")), "")
    versions = {v for v, _ in groups.each("memory.stat", "memory", "memory.stat")}
    versions |= {v for v, _ in groups.each("cgroup.controllers", "pids", "tasks") if not versions}
    if not versions and not groups.path:
        return None
    return Cgroup(
        version=min(versions) if versions else None,
        path=groups.path,
        memory_max_bytes=memory[0] if memory else None,
        memory_used_bytes=memory[1] if memory else high[1] if high else None,
        memory_high_bytes=high[0] if high else None,
        memory_throttled=_event(groups, "high"),
        oom_kills=_oom_kills(groups),
        pids_max=pids[0] if pids else None,
        pids_current=pids[1] if pids else None,
        cpu_quota=min(quotas, default=None),
        cpus=cpus,
        mems=mems,
    )


def _memory(groups: Groups) -> tuple[int, int | None] | None:
    """Return the lowest limit, and what counts against it where it is set."""
    found: list[tuple[int, int | None]] = []
    for controller, most, used, unused in (
        ("", "memory.max", "memory.current", "inactive_file"),
        ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        for folder in groups.folders(controller):
            limit = number(text(folder / most))
            if limit is None or limit >= UNLIMITED:
                continue
            found.append((limit, _used(folder, used, unused)))
    return min(found, key=lambda one: one[0], default=None)


def _used(folder: Path, current: str, unused: str) -> int | None:
    """Return what a group uses, without the page cache that the kernel can drop."""
    now = number(text(folder / current))
    cache = field(text(folder / "memory.stat"), unused) or 0
    return None if now is None else max(now - cache, 0)


def _highs(groups: Groups) -> Iterator[tuple[int, int | None]]:
    """Yield the limits above which memory is reclaimed, and what is used; version 1 has none that slows a group."""
    for folder in groups.folders(""):
        if (limit := number(text(folder / "memory.high"))) is not None:
            yield limit, _used(folder, "memory.current", "inactive_file")


def _event(groups: Groups, name: str) -> int | None:
    """Return a count of the own group's ``memory.events``."""
    counts = (field(text(folder / "memory.events"), name) for folder in groups.folders(""))
    return next((count for count in counts if count is not None), None)


def _oom_kills(groups: Groups) -> int | None:
    """Return how often the kernel killed in the own group: what is above it counts other people's processes too."""
    for controller, file in (("", "memory.events"), ("memory", "memory.oom_control")):
        for folder in groups.folders(controller):
            if (kills := field(text(folder / file), "oom_kill")) is not None:
                return kills
    return None


def _pids(groups: Groups) -> tuple[int, int | None] | None:
    """Return the limit that leaves the least room, and how many there are."""
    found: list[tuple[int, int | None]] = []
    for controller in ("", "pids"):
        for folder in groups.folders(controller):
            limit = number(text(folder / "pids.max"))
            if limit is not None:
                found.append((limit, number(text(folder / "pids.current"))))
    return min(found, key=lambda one: one[0] - (one[1] or 0), default=None)


def _quotas(groups: Groups) -> Iterator[float]:
    """Yield quotas: version 2 says "QUOTA PERIOD" or "max PERIOD", version 1 has two files and -1; microseconds."""
    for folder in groups.folders(""):
        quota, _, period = text(folder / "cpu.max").partition(" ")
        if quota.isdecimal() and period.isdecimal() and int(period):
            yield int(quota) / int(period)
    for folder in groups.folders("cpu"):
        limit, per = number(text(folder / "cpu.cfs_quota_us")), number(text(folder / "cpu.cfs_period_us"))
        if limit and per and limit > 0:
            yield limit / per
