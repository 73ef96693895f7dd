"""Run the command line: ``python -m gpudoctor``."""

import os
import sys

# `python -m` looks into the working folder first: a random.py that lies there would break what is to find it.
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if sys.path and os.path.realpath(sys.path[0]) == os.path.realpath(os.getcwd()) != os.path.realpath(HERE):
    del sys.path[0]

from gpudoctor.cli import main  # noqa: E402

main()
