"""The patient of a healthy machine."""

from gpudoctor.facts import Python
from tests.scenarios.machine import Machine


def facts(machine: Machine) -> Python:
    """Return an interpreter in a virtual environment."""
    return Python(
        executable="/venv/bin/python",
        version="3.11.7",
        platform="Linux-6.8.0-60-generic-x86_64-with-glibc2.39",
        prefix="/venv",
        environment="virtual environment",
        compiler="/usr/bin/gcc",
        headers=True,
        search_path=[
            "",
            "/usr/lib/python311.zip",
            "/usr/lib/python3.11",
            "/venv/lib/python3.11/site-packages",
        ],
    )
