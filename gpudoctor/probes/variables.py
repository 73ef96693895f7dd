"""Read out of the patient's libraries which variables they know, and read NCCL's configuration files."""

from gpudoctor.facts import Variables

script = "variable_names.py"
topics = {"variables": Variables}
deadline = 15.0
