"""The words by which a line tells how it goes: progress, a failure, that one was got over, an end."""

import re

from gpudoctor.logs.command_ends import CODES, STATUS
from gpudoctor.logs.foreign_lines import ENDS_OTHERS, LISTED, PODS, SETUP, STACK
from gpudoctor.logs.languages import FAILED_AS_A_WHOLE
from gpudoctor.logs.values import COUNT, DATA, HARMLESS, NAMED_VERSION, NUMBER, OWN_SETTINGS, VALUE
from gpudoctor.patterns import late_pattern

PROGRESS = late_pattern(
    r"\b(?:[Ee]poch|EPOCH|[Ee]p|[Ss]teps?|STEP|[Ii]ter(?:ation)?s?|[Bb]atch)\b\W{0,12}\d|\b[Ll]oss\b\W{0,4}\d|(?<![\d.])\d{1,6}(?:\.\d{1,4})?\s?(?:it/s|s/it|samples/s)"
)
"""What a training that goes on prints."""
ENOUGH = 3
"""Lines of progress after an error that show that it was survived; one may have been under way."""
NATIVE = late_pattern(
    r"\bNCCL WARN\b|NVRM: |\bXid\b|terminate called|what\(\): |\[[EF] |\b[EF]\d{4} |[A-Z]\w+(?:Error|Exception)\b|"
    r"\[[EF]\d{3} \d\d:|"
    r"[Ee]rror\b|\bFATAL\b|\bfailed\b|[Aa]ssert|[Ss]ignal|[Ee]xit ?code|Killed|Aborted|fault\b|Warning: |\bWARN|"
    # glibc's, of memory that was overwritten
    r"\bdouble free or corruption\b|"
    r"\bcorrupted (?:size vs\.|double-linked)|"
    r"\b(?:malloc|malloc_consolidate|realloc|calloc|free|munmap_chunk)\(\): [a-z]+ "
)
"""Words of libraries and systems that report a failure; a line without any may be a user's own remark."""
SETTLED = late_pattern(
    r"\b(?:[Ff]alling back|[Ff]all(?:s|en)? ?back to|[Ss]kipp(?:ing|ed)(?!(?: \w+)? ?[:=] *\d)|"
    r"[Ii]gnoring|[Dd]ropp(?:ing|ed)|[Tt]olerated|"
    r"[Ll]eft out|[Ee]xcluded|[Uu]sing (?:the |a )?(?:CPU|cpu|gloo|previous|default|older)\b|"
    r"[Uu]sing (?:the |a )?(?:cached?|local|random|fallback)\b|[Aa]re off\b|[Ii]s optional\b|"
    r"(?:[Cc]ontinuing|[Gg]o(?:es|ing) on) (?:without|with|anyway)|(?<=, )continuing\b|"
    r"(?:[Aa]s|where|when) (?:expected|planned|intended|designed)\b|\b[Aa]s (?:it|they) should\b|"
    r"\b[Ee]arly[- ]stop(?:ping|ped)?\b(?= (?:triggered|reached|after|at (?:epoch|step)|"
    r"criteri\w+ (?:is |was )?(?:met|reached)))|"
    r"\b[Cc]ount(?:s|ed|ing)? as\b|\b(?:errors?|failures?) (?:are |is )?(?:allowed|permitted)\b|"
    r"PASS(?:ED)?\b)|[:=] ?[nN]/[aA]\b(?! {1,}[\w/]+ ?[:=])|"
    r"[(\[](?:expected|ignored|tolerated|harmless|\w+ by us|on purpose)[)\]]|"
    r"\b(?:not|non)[ -]fatal\b|"
    # "; saving to the scratch disk instead", and no advice
    r"(?:[;,:.-] |^)(?:so |now )?(?!consider|try)[a-z]{2,20}ing (?:[\w./-]{1,60} ){0,5}instead\b"
)
"""What a program says of a failure that it did without, or wanted."""
HANDLED = late_pattern(
    # what an error's message asks the reader to do is no word of a program that does it
    rf"{SETTLED.pattern}|(?<![Pp]lease )\b(?:"
    r"[Rr]etry(?:ing)?\b(?!=| (?:limit|count|your|the (?:script|command|program)))|"
    r"[Rr]e-?run(?:ning)?\b(?! (?:with num_workers|your|the (?:script|command|program)))|"
    r"[Rr]e-?(?:building|creating|generating|computing)\b|"
    r"[Tt]rying (?:the |with )?(?:previous|next|older|again|another|gloo|mpi|cpu|CPU|default|plain|fallback)\b)"
)
"""What a program says of a failure that it went on from."""
RETRY = late_pattern(
    r"[Rr]etry|RETRY|\b[Ww]aiting (?:for|in|on)\b(?!.{0,60}\bfinish)|"
    r"[Aa]ttempt \d(?!.*\b[A-Za-z_]+[ =:]{1,2}[-+]?\d+\.\d+(?!\S*\s?(?:m?s|sec\w*|min\w*)\b))"
)
"""What a process says that has not got over a failure yet; a measure may stand behind the number of the attempt."""
WAITING = late_pattern(r"[Ww]aiting for")
TRYING = (NATIVE, RETRY, WAITING)
"""What a process still says that has not got over a failure: the failure itself, or that it tries again."""
REPR = late_pattern(
    r"\b[A-Z]\w{2,60}(?:Error|Exception)\((?:[\"'\d]|\))|<class '(?:\w+\.){0,8}[A-Z]\w{2,60}(?:Error|Exception)'>"
)
"""An exception, or its class, as Python writes the object: a program that caught it prints it so."""
CONTEXT = late_pattern(r"^(?:source_traceback|handle|future|task|protocol|transport|socket|fut|loop): ")
"""What asyncio writes below its word of an exception that nobody asked for, and above the traceback."""
TYPED = late_pattern(r"(?<=[:|\]-] )(?:[a-z_]\w*\.)*[A-Z]\w{2,60}(?:Error|Exception) (?=[A-Z\[(<'\"])")
"""An exception's type, and its message behind a blank: a program that caught it prints both so."""
THREAD = late_pattern(
    r"^Exception in thread |^Exception (?:occurred|happened) during processing of request|^Unhandled exception in thr|"
    # asyncio, where nobody asks for what a task raised
    r"^(?:Task|Future) exception was never retrieved|^Exception in callback "
)
"""What Python prints over the traceback of a thread, or of a task of asyncio: the process goes on."""
FINISHED = late_pattern(
    r"\b(?:finish(?:ed)?|done|complet(?:e|ed)|saved(?! (?:metadata|tensors?|variables?|shapes?|dtypes?)\b)|exported|"
    r"written|wrote|passed|succe(?:ss|ssful|ssfully|eded(?!\W{0,2}0\b))|ok|best|final|trained|train_runtime)\b|"
    # Lightning's Trainer
    r"`max_(?:epochs|steps)=\d+` reached",
    re.IGNORECASE,
)
"""What a program prints that comes to a good end."""
RESULT = late_pattern(r"\b(?:results?|accuracy|acc|loss|m?AP|mIoU|F1|BLEU|score|metrics?)\b", re.IGNORECASE)
"""What a training that goes well prints at its end, and before."""
MEASURE = late_pattern(
    r"(?<![A-Za-z])(?:\w+[_/.-])?(?:results?|accuracy|acc|loss|m?AP|mIoU|F1|BLEU|score)\b\W{0,4}[-+]?\d",
    re.IGNORECASE,
)
"""A measure of how good a model is, with its value: no job's script prints that of its own."""
BAD = late_pattern(
    r"Traceback|^\s*File \"|\bERROR\b|\b(?:nan|NaN|inf)\b|[Cc]ould not|[Cc]annot|"
    r"[Aa]bort|\b(?:not|never|without) (?:finished|done|complete|saved|ok)\b|\b[1-9]\d* (?:failed|errors?)\b|"
    r"\bkey\(s\) in state_dict\b|\bsize mismatch for\b|\bFAILED\b|\bkilled\b|\b[Ss]topping\b|"
    r"^(?:error_file|traceback|exitcode) *:|/error\.txt\b|"
    r"[\"'](?:level|levelname|severity|lvl)[\"']: ?[\"'](?:fatal|critical|error)[\"']|"
    r"\breturned -?[1-9]\d*\b|^Killing subprocess \d|"
    r"\b(?:ended|exited|left|died|stopped|with) (?:with|status|code) -?[1-9]\d*\b|[Tt]imed? ?out|\bgiving up\b(?! on)|"
    # unittest, of a test
    r"(?:^|\.\.\. )FAIL(?:$|: )|"
    # nccl-tests
    r"\bTest (?:NCCL |CUDA )?failure\b|"
    # Hydra, below an error with which it ends the program
    r"^Set the environment variable HYDRA_FULL_ERROR=1|"
    # a shell's $?, and no answer of a web server
    r"^(?:status|rc|exit|code)\W{1,3}(?!2\d\d$)[1-9]\d{0,2}$|"
    # its code for what was not found, or ended by a signal, behind a job script's word
    r"\b(?:finished|ended|done|exited|returned|stopped|over)\W{1,3}(?:12[4-7]|1[34]\d|255)\W?$"
)
"""What tells, in the last lines, of a failure, beside `NATIVE` and `STATUS`."""
NOISE = late_pattern(
    r"^(?:df|rm|rmdir|mkdir|ls|cat|chown|chmod|umount|kill|touch|ln): (?=cannot|.*: No such)|"
    # no event that kubectl lists
    r"\w*Warning\b(?! {2,}[A-Z][A-Za-z]+ {2,}\d)|\bwarnings\.warn|"
    # what Python's fault handler writes below the word of a signal
    r"^Extension modules: |^(?:Current thread|Thread) 0x[0-9a-f]+\b|^<no Python frame>|^Current thread's C stack|"
    r"^Stack \(most rec|"
    # torch, below every error of CUDA
    r"^CUDA kernel errors might be asynchron|^For debugging consider passing CUDA_LAUNCH|"
    r"^Compile with `TORCH_USE_CUDA_DSA|"
    r"^(?:Mismatched elements|Greatest (?:absolute|relative) difference): |"
    # TensorFlow and XLA, below the error of an operation
    r"^\d+ (?:successful operations|derived errors ignored)\.$|^\[\[\{\{node |"
    # torchrun's word of threads, above everything else
    r"^Setting OMP_NUM_THREADS environment variable for each process|"
    # torchrun on Windows
    r"NOTE: Redirects are currently not supported|"
    r"^Try ['\"`]\w.{0,60}-h(?:elp)?['\"`]? for |"
    r"^[Ww]arning:|resource_tracker|\batexit\b|Exception ignored|\(ignored|^\[W"
)
"""What stands at the end of many a good run."""
WRAPPER = late_pattern(
    r"\b(?:job|script|elapsed|executed in|"
    r"took|wandb|bye|goodbye|upload\w*|cop(?:y|ied|ying)|clean(?:ing|up|ed)?|exited|"
    r"releas\w*|total\W{1,3}(?:time|elapsed|duration)|"
    r"wall|wall-?time|resources|cpu-?t(?:ime)?|runtime|hours|unmount\w*|hook|deactivat\w*|shut(?:ting)?|tidying|ended|container|core|artifacts)\b|"
    r"^(?:srun|slurmstepd|salloc|mpirun): |"
    r"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b|^(?:real|user|sys)\s|^\W*(?:done|finished|end|completed?)?\W*$",
    re.IGNORECASE,
)
"""What a job's script prints at its end, whatever became of the training."""
WORD = late_pattern(r"[A-Za-z][A-Za-z'-]*[.,:;!?]?$")
HAN = late_pattern(r"[\u3040-\u30ff\u4e00-\u9fff]")
HAN_MOST = 16
"""Letters of Chinese or Japanese from which on a line with a comma or a full stop of those is a sentence."""
MOST = 7
"""Words of a line from which on it is a sentence: advice below an error, or what a person wrote below a log."""
END = 3
"""Lines at the end that say how it ended."""
CLOSING = late_pattern(
    r"\b(?:clean[- ]?(?:ing )?up|atexit|tear(?:ing )?[- ]?down|clos(?:e|ing)|flush(?:ed|ing)?|"
    r"(?:remove|delete|unlink)d?|temp(?:orary)? (?:dir|folder|file)\w*)\b",
    re.IGNORECASE,
)
"""What is done when all is done: that it failed changes no result."""
ASIDE = late_pattern(
    rf"{CLOSING.pattern}|\b(?:notif\w*|webhooks?|slack|e-?mails?|telegram|upload\w*|push\w*|sync\w*|track(?:er|ing)|"
    r"wandb|mlflow|tensorboard|plot\w*)\b",
    re.IGNORECASE,
)
"""What is done beside the training: where it fails, the training's result is there all the same."""
PARTING = late_pattern(
    r"^\W{0,4}(?:clos|clean|flush|tear|releas|unload|shutt)ing\b(?!.{0,200}\d\.\d)", re.IGNORECASE
)
"""How a line begins of what a program does at its end, an exception or not: an exit handler's."""
LEAVING = late_pattern(
    r"^(?:__del__|__exit__|_{0,2}(?:at_?exit|on_?exit|bye|good_?bye|exit|close|clean_?up|shut_?down|tear_?down|finali[sz]e|"
    r"flush)(?:_\w+|_?all)?)$",
    re.IGNORECASE,
)
"""The name of a function with which a program ends, when all is done."""
REPORTED = late_pattern(
    r"^(?:\S+ |\W{0,3}(?:\[[\w .:-]{1,40}\] ?)?)?\[?(?:ERROR|CRITICAL|FATAL|Fatal|fatal|Error|error)\]?\b"
    r"(?!\W{0,4}(?:0\b(?! (?!of\b)[a-z]{2,} [a-z])|None\b|[Ff]alse\b))"
    # "Error log: none"
    r"(?!(?: [a-z]+){1,3} ?[:=] ?(?:0|[Nn]one|[Nn]o|[Ff]alse|n/a|-|\[\]|\{\})\W{0,4}$)(?:[: |\]-]|$)|"
    r"[\"'](?:level|levelname|severity|lvl)[\"']: ?[\"'](?:fatal|critical|error|FATAL|CRITICAL|ERROR)\b|"
    r"\b(?:ERROR|CRITICAL|FATAL)\b(?!\W{0,4}0\b)[ :|\]-]|"
    r"\[[EF]\d{3,4} \d\d:\d\d:\d\d\.\d+ \w+\.cpp:\d+\] |"  # c10d's
    # abseil's, XLA's and Ray's, and those of torch's Python
    r"\b[EF]\d{4} [\d:.]{8,18} +\d+ [\w./-]+\.(?:cc|h|py):\d+\] |"
    r": [EF](?: +\d+)? [\w./-]+\.(?:cc|h):\d+\] |,\d{3} [EC] \d+ \d+\] |"
    # an exception's name, and its message behind a blank
    r"^(?:[a-z_]\w*\.)*[A-Z]\w{2,60}(?:Error|Exception) [\"'(\[]|"
    r"^(?:[\[(][\w .:-]{1,40}[\])] ?)?(?:Cannot|Can't|Could not|Couldn't|Unable to|Failed to|Missing|Invalid|Unknown|"
    r"No such|Abort|Giving up|Exiting)\b|\b(?:refus(?:e|es|ed|ing) to|giving up|aborting|cannot continue)\b|"
    # "error" in other languages
    r"^(?:\[)?(?:ОШИБКА|Ошибка|ERREUR|Erreur|FEHLER|Fehler|ERRO|Erro|错误|錯誤|エラー|오류)\]? ?[:：]"
)
"""What a program reports as an error, by the level of its logger or in its first word."""
REPORT = late_pattern(
    r"\b(?:ERROR|CRITICAL|FATAL)\b|[\"'](?:fatal|error|critical)[\"']|Traceback|/error\.txt\b|\"exc|"
    rf"\bexitcode *: -?[1-9]|{CODES}"
)
"""What a line of data holds that reports a failure all the same."""
ALIVE = late_pattern(r"^(?!.*\bNCCL\b).{0,120}\b(?:INFO|DEBUG)\b")
"""What a logger writes of a program that goes on; NCCL does so while others end."""
DONE = late_pattern(r"^\W*(?:all )?(?:done|finished|completed?)\W*$", re.IGNORECASE)
"""A good end in a word, which a job's script says as well."""
TESTED = late_pattern(r"^\W{0,3}(?:final )?test\w*\b.{0,40}\d", re.IGNORECASE)
"""The result on the test set, with which a training ends."""
REPEATED = late_pattern(r"\b(?:epochs?|steps?|iter(?:ation)?s?|batch|round|case)\b", re.IGNORECASE)
"""What is counted in a loop."""
STEP_OF = late_pattern(
    r"\b(?:[Ee]pochs?|EPOCH|[Ss]teps?|[Ii]ter(?:ation)?s?|[Bb]atch(?:es)?|[Rr]ounds?)\b\W{0,4}(\d{1,9})\s?(?:/|of)\s?(\d{1,9})\b"
)
"""How far a training has come, and how far it goes."""
GAVE_UP = late_pattern(
    r"\b(?:training|run|job|fit)\b.{0,20}\babort(?:ed|ing)?\b|"
    r"\bgiving up\b(?! on)|\bcannot continue\b|"
    # Hydra, of an error that nobody caught
    r"^Error executing job with overrides: "
)
"""What a program says of a failure with which it ends."""
FELL = late_pattern(
    r"\b(?:died|is dead|crashed|gave up|giving up|aborted|aborting)\b|(?<![Ee]arly[ -])\b[Ss]topping\b"
    r"|\b(?:ending|leaving|exiting|quitting) (?:the |this )?(?:process|program|run|job|rank|training)\b"
)
"""What a program says last that ends because a part of it did."""
LEFT = late_pattern(
    rf"{FAILED_AS_A_WHOLE.pattern}|"
    r"\b(?:training|run|job|main|fit|experiment|trainer|script|program|pipeline|worker|rank|process)\b.{0,40}"
    r"\b(?:fail\w*|end(?:s|ed|ing)?|dead|error|exception)\b|^FAILED\b|HYDRA_FULL_ERROR|"
    r"\b(?:errored|crash\w*|abort\w*|exit\w*|quit\w*|fatal|critical|terminat\w*|stopp\w*|died|dying|uncaught|unhandled)\b",
    re.IGNORECASE,
)
"""What a handler says, beside the traceback that it prints, of a failure with which the program ends."""
FAILURE = late_pattern(
    r"\b(?:fail|error|exception|unexpected|problem|wrong|caught)|\bin function\b", re.IGNORECASE
)
"""What a logger's line says that stands for a whole program's failure as well as for a part's."""
COMPLAINT = late_pattern(
    r"\bbut (?:got|found|received|expected|is|was)\b|\b[Ee]xpect(?:s|ed|ing)?\b|\b[Gg]ot:|\binstead of\b|"
    r"\bmust (?:be|have)\b"
)
"""What an error's message says in its next line of what it met, whatever values stand in it."""
LEVEL = late_pattern(
    r"\b(?:ERROR|CRITICAL|FATAL)\b|\[[EF]\d{3,4} \d\d:|\b[EF]\d{4} [\d:.]{8,18} +\d+ [\w./-]+\.py:\d+\]"
)
"""The level at which a logger reports a failure, in front of a line."""


PATH = late_pattern(r"^\S{1,300}/\S{1,300}$")
"""A file, and nothing else in its line."""


def says_done(full: str, text: str) -> bool:
    """Return whether a program's logger informs of a good end in a word: no job's script writes with its prefix."""
    return DONE.match(text) is not None and ALIVE.search(full[: len(full) - len(text)]) is not None


def sentence(text: str) -> bool:
    """Return whether a line is a sentence, or part of one, and no output."""
    words = text.split()
    if not text.isascii() and any(mark in text for mark in "，。？！、"):
        return len(HAN.findall(text)) >= HAN_MOST
    return "://" in text or (
        len(words) >= MOST and sum(WORD.match(word) is not None for word in words) > 0.7 * len(words)
    )


def tells_of_failure(text: str) -> bool:
    """Return whether a line of the end of a log tells of a failure; a row of a table or a count of 0 does not."""
    if DATA.search(text) and not REPORT.search(text):
        return False
    told = HARMLESS.sub(" ", text)
    return any(words.search(told) for words in (NATIVE, STATUS, BAD, FAILED_AS_A_WHOLE))


def reports_failure(full: str, text: str) -> bool:
    """Return whether a line, `text` without its prefixes, reports a failure that the program did not do without."""
    front = full[: len(full) - len(text)]
    told = LEVEL.search(front) is not None or tells_of_failure(text[:400])
    return told and not NOISE.search(text, 0, 400) and not SETTLED.search(text, 0, 400)


def tries_again(text: str) -> bool:
    """Return whether a line says that its process has not got over a failure yet, and tells no measure."""
    return RETRY.search(text) is not None and MEASURE.search(text) is None


def is_result(text: str, *, beyond_doubt: bool = False) -> bool:
    """Return whether a program that goes on prints such a line: a result, a good end, what it did without."""
    if tries_again(text) or any(words.search(text) for words in (STACK, SETUP, ENDS_OTHERS, PODS, LISTED)):
        return False
    named = NAMED_VERSION.search(text) or OWN_SETTINGS.search(text)
    if named and not MEASURE.search(text) and not PROGRESS.search(text):
        return False
    kinds = (VALUE, FINISHED, SETTLED) if beyond_doubt else (VALUE, FINISHED, SETTLED, COUNT)
    return any(words.search(text) for words in kinds)


def is_no_message(text: str) -> bool:
    """Return whether a line right below an exception is a result, and not the rest of what that says.

    An error's message goes on with lists, shapes, files and advice.
    """
    if not is_result(text, beyond_doubt=True):
        return False
    if any(words.search(text) for words in (SETTLED, PROGRESS, MEASURE)) or PATH.match(text):
        return True
    return not sentence(text) and any(words.search(text) for words in (NUMBER, FINISHED))


def is_last_step(text: str) -> bool:
    """Return whether a line tells of the last of all steps or epochs, such as ``epoch 3/3``."""
    found = STEP_OF.findall(text[:400])
    return bool(found) and all(int(at) == int(of) for at, of in found)
