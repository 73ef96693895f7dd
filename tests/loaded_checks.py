"""Loads all checks when it is imported, for a Python whose forks find them loaded; see warm_python.py."""

import sys
from pathlib import Path

from gpudoctor.registry import Registry

Registry.of(()).checks()
sys.path.remove(str(Path(__file__).parent))  # it was there to find this
