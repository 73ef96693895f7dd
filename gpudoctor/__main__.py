"""Run the command line: ``python -m gpudoctor``."""

from gpudoctor.cli import main

main()
