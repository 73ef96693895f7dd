"""Ask the CUDA driver library, as the patient's training would find it, for the GPUs that it can start."""

from gpudoctor.facts import Cuda

script = "cuda_facts.py"
topics = {"cuda": Cuda}
# cuInit takes a second or two on a machine of eight GPUs, and several for each GPU whose driver sleeps (persistence
# mode off); a driver that hangs must not cost more than 15 s in all.
deadline = 10.0
