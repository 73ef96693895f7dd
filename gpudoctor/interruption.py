"""A signal asked gpudoctor to end."""


class Interrupted(BaseException):
    """Raised by the handler of a signal; every child ends on the way out, and no check's guard holds it up."""

    def __init__(self, number: int) -> None:
        self.number = number
