"""Ask the patient's interpreter what it is and what is installed beside it."""

from gpudoctor.facts import Distributions, Python, Toolkit

script = "python_facts.py"
topics = {"python": Python, "distributions": Distributions, "toolkit": Toolkit}
deadline = 30.0
