"""What NCCL's own configuration files set, beside the environment."""

import shlex

from msgspec import Struct

from gpudoctor.facts.launch import Launch


class ConfigurationFile(Struct, frozen=True, kw_only=True):
    """A file of NCCL's own, read as NCCL reads it: ``#`` in the first column, else NAME=VALUE, spaces included."""

    path: str
    settings: dict[str, str] = {}
    """Variables of NCCL, torch and the like, their names as they stand there."""
    without_equals: list[int] = []
    """Numbers of lines that are neither empty, comment nor setting: NCCL skips them."""
    error: str | None = None
    """Why it could not be read."""


class NamedFile(Struct, frozen=True, kw_only=True):
    """A file that a variable of NCCL's names, and whether this process could open it as NCCL would."""

    variable: str
    path: str
    error: str | None = None
    """Why it could not be opened for what the variable asks, in the system's words; ``None``: it could."""


class NcclConfiguration(Struct, frozen=True, kw_only=True):
    """The files that NCCL reads before its variables (``src/misc/param.cc``), and those that the variables name."""

    files: list[ConfigurationFile] = []
    """In NCCL's order: the first that sets a variable wins, and the environment before all."""
    named: list[NamedFile] = []

    def refusal(self, setting: "Setting") -> str | None:
        """Return why the file that a setting names cannot be opened; ``None`` where it can, or nobody looked."""
        return next(
            (
                file.error
                for file in self.named
                if (file.variable, file.path) == (setting.name, setting.value)
            ),
            None,
        )


class Setting(Struct, frozen=True):
    """A variable that is set for the ranks."""

    name: str
    value: str
    where: str = ""
    """The file that sets it; empty: the environment."""

    def __str__(self) -> str:
        """Return it as it is written, and where unless that is the environment."""
        shown = f"{self.name}={self.value}"
        return f"{shown} in {self.where}" if self.where else shown

    def removal(self, otherwise: str = "Do without it") -> str:
        """Return what takes it away, in words: `otherwise` says it of the environment."""
        return f"Take the line out of {self.where}" if self.where else otherwise

    @property
    def removal_command(self) -> str:
        """The command that takes it away; of a file the one that finds its line."""
        return f"grep -n {self.name} {shlex.quote(self.where)}" if self.where else f"unset {self.name}"


def settings(launch: Launch, configuration: NcclConfiguration | None) -> dict[str, Setting]:
    """Return what is set for the ranks: the environment, then NCCL's files for what that leaves open."""
    found = {name: Setting(name, value) for name, value in launch.variables.items()}
    for file in configuration.files if configuration is not None else []:
        for name, value in file.settings.items():
            found.setdefault(name, Setting(name, value, file.path))
    return found


def nccl_variables(launch: Launch | None, configuration: NcclConfiguration | None) -> dict[str, str]:
    """Return the variables as NCCL has them in the ranks, from the environment and from its files."""
    return {name: one.value for name, one in settings(launch or Launch(), configuration).items()}
