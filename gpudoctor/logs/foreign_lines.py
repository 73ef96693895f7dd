"""Lines that stand in a log and are no output of a program: stacks, summaries, source, what launchers and NCCL say."""

from gpudoctor.patterns import late_pattern

CODE = late_pattern(
    r"^(?:raise [A-Z]|import \w|from \w+ import|for \w+ in |while |def |class |(?!tensor)[A-Za-z_][\w.]*\()"
)
"""A line of a program's source: a shell quotes the command that a signal ended."""
BACKTRACE = late_pattern(
    r"^frame #\d+: |^<omitting python frames>|^Exception raised from \w+ at |"
    # UCX, below a signal
    r"^\d+ 0x[0-9a-f]{8,} |^==== backtrace \(tid|"
    # the end of such a line
    r"^\S*/\S+\.so(?:\.\d+)*\)$"
)
"""A line of the native stack below an exception of torch's C++, or below UCX's word of a signal."""
STACK = late_pattern(rf"{BACKTRACE.pattern}|^frame #\d+|^#\d+ |\b0x[0-9a-f]{{6,}}")
"""A line of a native stack."""
REASON = "Last error:"
"""What torch writes over the reason that NCCL gives for its error: a line of any words (NCCLUtils.cpp)."""
LISTED = late_pattern(
    # XLA: what took the memory that ran out, a line for each; and Horovod: who waits for whom, with what
    r"^(?:\d+\. )?(?:Size|Unpadded size|Extra memory due to padding|Operator|Shape|XLA label|Allocation type): |"
    # keys of a state dict, in a list that was shortened by hand
    r"^\"\w+(?:\.\w+){1,15}\"[.,]|^(?:Unexpected|Missing) key\(s\) in state_dict: |"
    # Caffe2, of the operator that failed
    r"^(?:input|output): \"[^\"]*\" |"
    # Ray, of a node whose memory ran out
    r"^PID\s+MEM\(GB\)\s+COMMAND\b|^\d{1,8}\t\d+\.\d\d\t\S|"
    r"^(?:Stalled|Missing) ranks:|"
    r"^\d{1,5}: \[[A-Za-z_][\w./-]*(?:, [A-Za-z_][\w./-]*)*(?: \.\.\.)?\]$|\[missing ranks: "
)
"""What stands below an error and lists what it is about: part of the message, and no result."""
USAGE = late_pattern(r"^[Uu](?:sage|SAGE): \S")
"""How a program begins to say how it is used."""
OPTION = late_pattern(r"^[\[(]?--?[A-Za-z]|^\{[\w.|,-]+\}?")
"""How a line begins that goes on with a program's options."""
FROM_C10 = late_pattern(
    r"^frame #\d+: |^Exception raised from \w+ at |^\*\*\* Check failure stack|"
    r"^(?:\S.{0,80} )?@ +0x[0-9a-f]{6,} "
)
"""Where a C++ exception of torch was raised, and the stack above it; glog's words for the same."""
SUMMARY = late_pattern(
    r"^[-=]{20,}$|^\S{1,200} FAILED$|^Failures:$|^<NO_OTHER_FAILURES>$|^Root Cause \(first observed failure\):$|"
    r"^\[\d+\]:$|^(?:time|host|rank|exitcode|error_file|traceback) *: "
)
"""A row of torchrun's summary of workers that failed (torch/distributed/elastic/multiprocessing/errors)."""
CLOCK = late_pattern(r"^\W?[IWEF]?\d[\d/-]*[ T]\d\d(?::\d\d){1,2}(?:[.,]\d*)?\W*$")
"""When a line was written, and no more: the rest was cut off."""
PODS = late_pattern(
    r"^(?:\S+ +)?\S+ +\d+/\d+ +[A-Z][A-Za-z]+(?::\S+)? +\d|^(?:Normal|Warning) +[A-Z][A-Za-z]+ +\d+[smhd]"
)
"""A row of what kubectl prints of pods and of what became of them: how many containers are ready is no measure."""
ENDS_OTHERS = late_pattern(r"\bSending process \d+ closing signal\b|\bKilling subprocess \d")
"""What a launcher says of the processes that it ends, because one had failed."""
SETUP = late_pattern(r"\bNCCL (?:INFO|TRACE|VERSION)\b")
"""What NCCL says of its setup, and of the way that an error takes through it; no result of a program."""
NCCLS = late_pattern(r"\bNCCL (?:INFO|WARN|ERROR|TRACE|VERSION)\b")
"""A line of NCCL's own, whatever it says."""
HELP = "show this help message and exit"
"""What argparse writes of -h in the text of --help."""
