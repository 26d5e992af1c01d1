"""The one exception that the command line turns into a line on stderr."""


class LabError(Exception):
    """Something that the user can act on; its text is one sentence that says what and how."""

    def __init__(self, text: str, status: int = 1) -> None:
        super().__init__(text)
        self.status = status
