"""Wordings of torch, launchers and tools that several checks look for, as parts of regular expressions."""

WORKER_EXITED = (
    r"\b(?:[Rr]ank|RANK|[Ww]orker|[Pp]roc(?:ess)?|[Tt]rainer|[Rr]eplica)[ _#:=-]{0,2}(?P<rank>\d{1,4})\b(?:(?![Cc]hild).){0,30}? "
    r"(?:exited|ended|died|crashed|finished|failed|terminated|left) with (?:exit[ -]?)?(?:code|status)[ :=]{1,3}"
)
"""A launcher's own line about a process that ended, up to the exit code."""
EXIT_CODES = r"\b(?:[Ee]xit|[Rr]eturn)(?:ed)?[ _-]?(?:codes|statuses)\b\W{1,4}"
"""What stands before its list of all of them."""
EXIT = r"(?<!unexpectedly with )\b[Ee]xit(?: with)?(?: status code|[ _][Cc]odes?|Code| status)(?: of| is| was)?\"?[ :=]{1,12}"
"""Any line's words before an exit code."""
SRUN_TASK = r"srun: error: (?P<host>[\w.-]+): tasks? (?P<rank>\d+)[\d,-]*: "
"""What srun says before how a task ended."""
TIME_LIMIT_OVER = r": line \d+: +\d+ (?:Killed|Terminated) +(?:\w+=\S* +){0,8}(?:\S*/)?timeout\b"
"""What bash says where timeout sent itself the signal with which it ended a command: its limit was over."""
WRAPPER = r"(?:module|_orig_mod|_forward_module|_fsdp_wrapped_module)"
"""Of the prefixes that wrappers give to keys of a state_dict."""
MISSING_WRAPPED = rf"[Mm]issing[ _]keys?(\(s\))?\W.{{0,22}}?['\" ]{WRAPPER}\."
"""The first missing key is that of a wrapper."""
UNEXPECTED_WRAPPED = (
    rf"[Uu]nexpected[ _]keys?(\(s\))?\W.{{0,22}}?['\" ](?:n_averaged['\"], ['\"])?{WRAPPER}\."
)
"""The first unexpected key is that of a wrapper, or follows the counter of an average."""
SIZED_WRAPPED = rf"size mismatch for {WRAPPER}\."
"""The model and the file both have the wrapper's prefix: what has two sizes has one name."""
NOT_A_STATE_DICT = (
    r"state_dict for (Distributed)?DataParallel:\s{1,9}Unexpected key\(s\) in state_dict:? .module\.|"
    r"Unexpected key\(s\) in state_dict:? .(epoch|state_dict|model|model_state_dict|optimizer|net|arch|best_\w+|iteration)['\"]"
)
"""Keys of a wrapped model that it does not have, or those of a file that holds more than the model."""
NOTHING_UNEXPECTED = (
    rf"Missing key\(s\) in state_dict:? .{WRAPPER}\.[^\n]*[\"']\. *\n+(?!Unexpected|size mismatch)\S"
)
"""A whole list of missing keys with nothing unexpected below it: where a prefix was in the way, both stand there."""
BETWEEN_LISTS = r"\"[\s\S]{0,9000}?Unexpected key\(s\) in state_dict:? \""
"""From the first missing key to the first unexpected one."""
ZERO3 = r"[Dd]eep[Ss]peed|ZeRO|[Zz]ero[_-]?3|zero_stage|[Ss]tage[_ -]?3"
"""Words of DeepSpeed's ZeRO, whose third stage leaves empty parameters."""
EMPTY_MATRIX = r"size mismatch for [\w.-]{1,300}\.weight: .{0,40}shape torch\.Size\(\[0\]\) from checkpoint, .{0,40} torch\.Size\(\[\d+, "
"""A layer's matrix that the file has as nothing: no other way of saving leaves that."""
KILLED = (
    r"\u5df2\u6740\u6b7b|\u5f37\u5236\u7d50\u675f|\u5f37\u5236\u7d42\u4e86|\u0423\u0431\u0438\u0442\u043e|"
    r"Get\u00f6tet|Processus arr\u00eat\u00e9|Terminado \(killed\)|\uc8fd\uc5c8\uc74c"
)
"""What the shell says for "Killed" in Chinese, Japanese, Russian, German, French, Spanish and Korean (glibc's catalogues)."""
SEGMENTATION_FAULT = (
    r"\u6bb5\u9519\u8bef|\u7a0b\u5f0f\u8a18\u61b6\u9ad4\u5340\u6bb5\u932f\u8aa4|"
    r"\u041e\u0448\u0438\u0431\u043a\u0430 \u0441\u0435\u0433\u043c\u0435\u043d\u0442\u0438\u0440\u043e\u0432\u0430\u043d\u0438\u044f|"
    r"Speicherzugriffsfehler|Erreur de segmentation|Violaci\u00f3n de segmento|Errore di segmentazione|"
    r"Falha de segmenta\u00e7\u00e3o|\uc138\uadf8\uba58\ud14c\uc774\uc158 \uc624\ub958"
)
"""The same for "Segmentation fault"; Japanese has the English words."""
A_FRAME = r"Traceback|, line \d|-> \d+ |\.py\(\d+\)"
"""A traceback, which tells where an exception came from; a line that was pasted alone has none."""
DDP = (
    r"DistributedDataParallel|\bDDP\b|\bddp\b|parallel[/\\]distributed\.py|torch[./\\]distributed|torchrun|"
    r"terminated with the following error"
)
"""Words of DistributedDataParallel and its launcher."""
MIG_SLICE = r"\bMIG-[0-9a-f]{8}|\bMIG (?:devices?|mode|instances?|\d+g\.\d+gb)\b"
"""A slice of a GPU, by its name or in words."""
REPLICA = r"in replica (?P<replica>\d+) on device (?P<device>\d+)"
"""Where DataParallel says that an exception was raised."""
ASSERTING_THREAD = r"thread: ?\[\d+, ?\d+, ?\d+\] Assertion "
"""What stands before an assertion of a kernel."""
CUDA_START = (
    r"(?:\bcuInit err(?:or)?|cuda driver library (?:init failure|failed to get device context)|(?:cudart|nvcuda) init failure|"
    r"\b(?:cuda|CUDA) driver error(?: code)?)[ :=(]{1,4}"
)
"""What programs without torch say before CUDA's number for why it did not start."""
SOMEBODY = (
    r"^(?=(?:\W{0,2}[A-Za-z]['\w-]*\W{1,3}){3})(?![^\n]{0,600}\b(?:[Ff]ix(?:ed|es)|[Ss]olved|[Rr]esolved|"
    r"works? (?:fine|well) (?:now|after|since)|[Aa]void\w*|[Pp]revent\w*)\b)"
    r"(?=[^\n{}|<>]{0,600}(?<!\w)(?:I|I'm|I've|[Mm]y|[Oo]ur|[Ww]e (?:are|have|run|ran|train|use|see|get|got|tried)|"
    r"[Aa]ny(?:one|body)|[Hh]i|[Hh]ello)(?!\w))[^\n{}|<>]{0,600}?(?<![\w-])"
)
"""What a line begins with in which somebody tells of his training in words, up to what he says of it."""

SAID_XID = (
    r"^(?!.*\b(?:check|grep|look|search|monitor|detect|watch|pars|support|handl|treat|skip|ignor|classif|document|feat)\w*\b)"
    r"(?!.*\b(?:no|any|never|without) (?:Xid|XID))(?:.*?\b(?:dmesg|journalctl|syslog|kernel log)\b.{0,80}?|.*?\b(?:got|get|gets|saw|see|seeing|hit|hits|getting|throws?"
    r"|(?:died|dies|fail(?:s|ed)?|crash(?:es|ed)?) with)\b.{0,30}?)"
    r"\b(?:Xid |XID |Xid:|XID:)(?:errors?|events?|code)?[ :#=]{0,3}"
)
"""What people write of a number that the kernel's log has: ``dmesg shows Xid 31``, ``the node died with XID error: 48``."""

LISTED_XID = r"^[^\w\n]{0,8}(?:Xid |XID |Xid:|XID:)(?:errors?|events?|code)?[ :#=]{0,3}"
"""An item of a list, up to the number: ``  - `Xid 48`: ...``. What the list is of, the lines above say."""
XID_HAPPENED = r"\b[^\n]{0,80}? (?:on GPUs?|on the (?:node|card)|GPU[- ]?\d|\d{1,4} times|once|twice|every|today|yesterday|last|since|daily|again)\b"
"""What stands behind the number in an item that says of itself that it happened: ``- Xid 74 on GPU 2, twice``."""
TOLD_XIDS = (
    r"(?m:^(?![^\n]*\b(?:support|handl|document|feat|monitor|detect|classif|pars)\w*\b)[^\n]*?"
    r"(?:\b(?:dmesg|journalctl|syslog|kern\.log|kernel log)\b[^\n]{0,60}?\b(?:show(?:s|ed)?|ha[sd]|report(?:s|ed)?|log(?:s|ged)|contain(?:s|ed)?|full of|repeated)\b"
    r"|\b(?:[Ww]e|I|[Nn]ode|[Gg]PU)\b[^\n]{0,40}?\b(?:see|saw|get|got|had|hit|keep getting|reports?|reported|throws?|logged)\b)"
    r"[^\n]{0,80}?\b(?:Xid|XID|xid|errors?)\b)"
)
"""What stands above such a list where it is of what happened: ``dmesg shows repeated Xid events:``."""
