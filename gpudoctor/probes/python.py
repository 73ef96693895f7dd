"""Ask the patient's interpreter what it is and what is installed beside it."""

from gpudoctor.facts import Distributions, Python

script = "python_facts.py"
topics = {"python": Python, "distributions": Distributions}
deadline = 30.0
