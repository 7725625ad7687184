"""Errors that the person at the keyboard can mend: the command line shows one line and exits with 2."""


class BadInput(ValueError):
    """Something that was asked for cannot be: a wrong file, folder, name or amount. `str()` is one line."""


class ConfigError(BadInput):
    """A config that is not valid. `str()` is one line that names the field, the value and what is allowed."""
