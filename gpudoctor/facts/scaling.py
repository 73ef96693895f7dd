"""What ``repro --scale`` measured: the time of a step on more and more devices, at one global batch."""

from msgspec import Struct

GOOD = 0.8
"""The efficiency from which on nothing is said to limit: one device's work on eight then takes a sixth of the time."""


class ScalingRun(Struct, frozen=True, kw_only=True):
    """One training mode on a number of devices: medians of its steps, in seconds."""

    mode: str
    devices: int
    """Ranks, or devices of a mode of one process."""
    data: float = 0.0
    """Until the batch lies on the device."""
    forward: float = 0.0
    backward: float = 0.0
    communication: float = 0.0
    """Of ddp what backward takes longer than without an all-reduce; what is hidden behind backward is not in it."""
    update: float = 0.0
    failure: str | None = None
    """Why nothing was measured."""

    @property
    def seconds(self) -> float:
        """Seconds of a whole step."""
        return self.data + self.forward + self.backward + self.communication + self.update

    @property
    def computing(self) -> float:
        """Seconds in which it computes."""
        return self.forward + self.backward + self.update


class Scaling(Struct, frozen=True, kw_only=True):
    """Runs side by side; the first is one device."""

    runs: tuple[ScalingRun, ...]
    batch: int
    """Images of a step, over all devices."""
    model: str
    data: str
    on: str
    """``cpu`` or ``cuda``."""
    processors: int | None = None
    """Logical processors that the ranks may use."""

    @property
    def one(self) -> ScalingRun | None:
        """The run on one device, which the others are compared with."""
        return next((run for run in self.runs if run.devices == 1 and run.failure is None), None)

    def speedup(self, run: ScalingRun) -> float | None:
        """Return how many times as fast as one device a run is."""
        one = self.one
        return one.seconds / run.seconds if one is not None and run.failure is None else None

    def efficiency(self, run: ScalingRun) -> float | None:
        """Return the part of the devices' work that is not lost: 1 where twice the devices take half the time."""
        speedup = self.speedup(run)
        return None if speedup is None else speedup / run.devices

    def limit(self, run: ScalingRun) -> str | None:
        """Return what most of the lost time goes to; ``None`` for one device, and where little is lost."""
        one, efficiency = self.one, self.efficiency(run)
        if one is None or efficiency is None or run.devices == 1 or efficiency >= GOOD:
            return None
        lost = {
            "communication": run.communication - one.communication / run.devices,
            "input": run.data - one.data / run.devices,
            self._computing(run): run.computing - one.computing / run.devices,
        }
        return max(lost, key=lambda what: lost[what])

    def _computing(self, run: ScalingRun) -> str:
        """Name why computing does not become shorter."""
        if self.on == "cpu" and self.processors is not None and run.devices > self.processors:
            return f"{run.devices} devices share {self.processors} processors"
        if self.on == "cpu" and run.mode in ("manual", "functional", "dp"):
            return "one interpreter drives all devices"
        return f"batch too small per device ({self.batch // run.devices})"

    @property
    def fastest(self) -> ScalingRun | None:
        """The run with the shortest step."""
        return min(
            (run for run in self.runs if run.failure is None), key=lambda run: run.seconds, default=None
        )

    @property
    def sentence(self) -> str:
        """Say which run is the fastest, and why more devices are not faster."""
        best, one = self.fastest, self.one
        if best is None or one is None:
            return "Nothing was measured on one device: nothing can be compared."
        times = {run: one.seconds / run.seconds for run in self.runs if run.failure is None}
        words = f"{best.mode} on {best.devices} is the fastest: {times[best]:.2f} x one device."
        slower = [run for run in times if run.devices > best.devices]
        if slower:
            why = self.limit(slower[-1])
            words += f" {slower[-1].mode} on {slower[-1].devices} comes to {times[slower[-1]]:.2f} x" + (
                f"; most of its time is lost to: {why}." if why else "."
            )
        return words
