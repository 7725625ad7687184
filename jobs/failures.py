"""What a command that fails says: one line on stderr, and an exit code.

The codes: 2 bad input, 1 failed, 130 stopped by Ctrl-C.
"""

import shlex
import sys
import tempfile
import traceback

from turncoat.platform.config.errors import BadInput


def complain(message: str, code: int = 2) -> int:
    """Print the message on one line; returns the code."""
    print("error:", " ".join(message.split()), file=sys.stderr)
    return code


def stopped(stop: KeyboardInterrupt) -> int:
    """Say how to go on. Who knows the run's folder passes the interrupt on as KeyboardInterrupt(folder)."""
    how = f"go on with: turncoat resume {shlex.quote(str(stop.args[0]))}" if stop.args else "nothing was kept"
    print(f"stopped; {how}", file=sys.stderr)
    return 130


def failed(error: Exception, debug: bool) -> int:
    """Say what was raised, and where its traceback is: with `debug` on stderr, else in a file."""
    if debug:
        traceback.print_exception(error)
    cause = raised_remotely(error)
    if isinstance(cause, BadInput):
        return complain(str(cause))
    # Whoever knows the run's folder adds how to go on with it.
    hints = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
    what = f"{type(cause).__name__}: {str(cause).strip().partition(chr(10))[0]}{hints}"
    return complain(what if debug else f"{what} (traceback: {keep_traceback(error)}, or add --debug)", 1)


def raised_remotely(error: BaseException) -> BaseException:
    """What a remote method raised: Ray wraps it, and the wrapper's text is a page of remote traceback."""
    while isinstance(cause := getattr(error, "cause", None), BaseException):
        error = cause
    return error


def keep_traceback(error: Exception) -> str:
    """The file that holds the full traceback: nobody wants to repeat an hour's run to see it."""
    with tempfile.NamedTemporaryFile("w", prefix="turncoat-", suffix=".txt", delete=False) as file:
        traceback.print_exception(error, file=file)
    return file.name
