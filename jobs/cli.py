"""The command line, `turncoat`. Exit codes: 0 done, 2 bad input, 1 failed, 130 stopped by Ctrl-C."""

import os
import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer

from turncoat.jobs import result_commands, run_commands
from turncoat.jobs.failures import complain, failed, stopped

app = typer.Typer(
    name="turncoat",
    help="Run and inspect attacks and defences in decentralised and federated GRPO, on Ray.",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# In the order of `turncoat --help`.
app.command()(run_commands.run)
app.command()(run_commands.resume)
app.command()(run_commands.plan)
app.command()(result_commands.report)
app.command("list")(run_commands.list_kinds)
app.command()(run_commands.show)
app.command("eval")(result_commands.evaluate)
app.command()(result_commands.export)
app.command()(result_commands.roc)
app.command()(result_commands.calibrate)
app.command()(result_commands.compare)


def print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"turncoat {version('turncoat')}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the full traceback of a failure.")] = False,
) -> None:
    """Run and inspect attacks and defences in decentralised and federated GRPO, on Ray."""


def main() -> int:
    """Entry point of the console script: run one command; what it raises becomes a line and an exit code.

    Click's own runner is left out: its errors fill a box of several lines.
    """
    # `--debug` may stand anywhere, since it is added to a command that has just failed.
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"] or ["--help"]
    command = typer.main.get_command(app)
    usage_error: Any = typer.BadParameter.__base__
    try:
        with command.make_context("turncoat", arguments) as context:
            command.invoke(context)
        sys.stdout.flush()
    except typer.Exit as end:
        return end.exit_code
    except BrokenPipeError:
        # Whoever read has seen enough (`| head`). At exit Python would flush, and complain, once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except usage_error as error:
        return complain(error.format_message())
    except KeyboardInterrupt as stop:
        return stopped(stop)
    except Exception as error:
        return failed(error, debug)
    return 0


if __name__ == "__main__":
    sys.exit(main())
