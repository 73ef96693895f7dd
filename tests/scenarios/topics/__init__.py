"""One module per topic: ``facts(machine)`` returns what its probe learns on that healthy machine, or ``None``."""
