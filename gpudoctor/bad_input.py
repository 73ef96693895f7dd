"""What was handed in cannot be used: the one kind of error that is the user's to mend."""


class BadInput(Exception):
    """Something that was named or handed in cannot be used; the text is one clear line."""

    exit_code = 2
