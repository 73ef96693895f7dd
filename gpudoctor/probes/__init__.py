"""How facts are learnt: one module per topic, each mirrored in `gpudoctor.facts`.

Two forms, by what a module defines:

``probe() -> Topic``
    runs in a process of its own under gpudoctor's interpreter; what it may hang on or crash in is imported inside.
``script`` and ``topics``
    a stand-alone file that runs under the patient's interpreter and prints the facts of those topics.

Either may set ``deadline``, in seconds. A probe that cannot learn its facts raises OSError or ValueError with the
reason.
"""
