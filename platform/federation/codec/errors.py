"""What a receiver says of a payload that it does not take."""


class PayloadError(ValueError):
    """A payload is not what was agreed on. `str()` is one line: the field, what it holds, what is allowed."""
