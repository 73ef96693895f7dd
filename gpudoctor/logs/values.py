"""How a line holds values: rows of tables, measures, and counts of failures that are none."""

import re

from gpudoctor.patterns import late_pattern

HARMLESS = late_pattern(
    # "rank 0 failed" is no count of failures
    r"(?<!\brank )(?<!worker )(?<!process )(?<!\bnode )(?<!\btask )(?<!\bagent )(?<!\bfor )(?<!\bGPU )(?<!device )"
    r"(?<!replica )(?<!\bstep )(?<!epoch )(?<!attempt )"
    r"\b(?:0|no|zero) (?:\w+ )?(?:failed|failures?|errors?|crashes|timeouts?)\b|"
    r"\b(?:\w+/)?(?:fail(?:ed|ures?|s)?|errors?|crashe[sd]|fatal|timeouts?)[\"']?\W{0,3}"
    r"(?:0\b(?!\.\d)(?! (?!of\b)[a-z]{2,} [a-z])|none\b|null\b|false\b)|"
    r"\b[\w/]*(?:error|err)(?:[ _]?rate)?\W{1,4}\d+\.\d|\bok/failed\b|"
    r"\bexit(?:ed)?(?: with)?[ _-]?(?:codes?|status(?:es)?)\W{1,3}0\b(?!\.\d)(?:, 0\b)*(?!, \d|['\"]?:)|"
    # TensorFlow and XLA, loaded beside another copy of the same libraries
    r"\bUnable to register cu\w+ (?:factory|plugin)\b|"
    r"\b(?:factory|plugin|placer)\b.{0,60}\balready (?:been )?registered\b",
    re.IGNORECASE,
)
"""Counts of failures that are 0, measures of how far a model is off, and what libraries always say as errors."""
DATA = late_pattern(
    r"^[{\[].*[}\]]$|^[^|]{0,60} \| [^|]{1,60} \| |^\| .{0,200} \|$|"
    r"^[-+]?\d[\d.e+-]*(?:\s+[-+]?\d[\d.e+-]*(?: ?(?:%|[a-zA-Z]{1,3}(?:/[a-z]{1,3})?))?)+$"
)
"""A line that is a value of a program, or a row of a table; it may hold any word."""
NO_VALUE = late_pattern(r"(?:\s{2,}|\| ?)[nN]/[aA](?:\s{2,}| ?\|)")
"""A cell of a table for which there is no value: what stands beside it says why, and the next row is printed."""
MEASURED = (
    r"(?<![\w./-])[-+]?\d+\.\d+(?:e[-+]?\d+)?(?![\d.]*\.\d)|(?<![\d/])\d+ ?/ ?\d+\b(?!/)|(?<![\w.])\d+e[-+]\d"
)
NUMBER = late_pattern(MEASURED)
"""A number that was measured or counted up, and no list, shape or file: those stand in messages of errors too."""
VALUE = late_pattern(
    rf"{MEASURED}|\btensor\(|"
    r"^[\[{(].*[\])}]$|[\[{][^\[\]{}]*[\]}]$|[\[(]\d[\d., ]*[\])]+$|"
    r"\w\.(?:pth?|ckpt|safetensors|json|npz|npy|csv|bin|onnx|html)\b"
)
"""What a program prints that has a result: a measure, a list, a file."""
NAMED_VERSION = late_pattern(
    r"\b(?:python|(?:py)?torch\w{0,8}|cuda(?: ?toolkit)?|cu[ -]?dnn|nccl|ubuntu|win(?:dows)?|centos|debian|"
    r"mac ?os|drivers?|gcc|numpy|transformers|accelerate|deepspeed|(?:ana|mini)?conda|lightning|mmcv\w*|versions?)\b"
    r"\W{0,4}(?:version\W{0,3}|is |v(?:er)?\.? ?)?\d+\.\d",
    re.IGNORECASE,
)
"""Somebody names what he uses, or a program what it runs with: ``python 3.9, pytorch 1.12``."""
OWN_SETTINGS = late_pattern(
    r"^(?:\W{0,3}(?:lr|learning[ _]rate|batch[ _]?size|momentum|weight[ _]decay|num[ _]workers|dropout|image[ _]?size)"
    r"(?: ?[=:] ?| )[\d.e+-]+[,; ]*){2,}$|^\W{0,3}(?:I (?:am|have|use)|I'm|I've|[Mm]y) .{0,80}\d ?G(?:i?B)?\b",
    re.IGNORECASE,
)
"""Settings, and what somebody says of his GPU: neither is a result."""
COUNT = late_pattern(r"(?<![A-Z_=])[=:] ?\d+\b|(?<![\w.-])\d+ [a-z]{2,}|\w [-+]?\d{1,9}$")
"""A result that is a whole number; messages of errors hold such, too."""
