"""The only door through which a report leaves: what is private on a machine becomes a stable alias.

Redaction goes by what the machine tells (`Private`) and by shape; it cannot know that the name of a file, of a module
or of a folder below the home folder is a secret. Loopback, unspecified and broadcast addresses, PCI addresses, versions
and the system's folders stay, for a diagnosis needs them.
"""

from gpudoctor.redact.leftovers import leftovers
from gpudoctor.redact.names import Private
from gpudoctor.redact.redactor import Redactor
from gpudoctor.redact.report import own_words, private, redacted, redacted_tree, sealed

__all__ = ["Private", "Redactor", "leftovers", "own_words", "private", "redacted", "redacted_tree", "sealed"]
