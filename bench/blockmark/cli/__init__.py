"""The command line: one file a command, each of which parses, calls and prints.

Nothing heavy is imported until a command runs, so that `--help` and `list` are quick.
"""

from __future__ import annotations

import sys

import typer

from . import (
    build,
    capacity,
    check,
    claims,
    compare,
    doctor,
    history,
    listing,
    profile,
    report,
    run,
    trace,
    verify,
)
from .errors import EXIT_INTERRUPTED, EXIT_USAGE, known_errors

app = typer.Typer(
    name="blockmark",
    help="Microbenchmarks for the block manager of a paged KV cache.",
    no_args_is_help=True,
    # Markup costs half of the start-up time and puts escapes into CI logs.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

app.command("run")(run.command)
app.command("verify")(verify.command)
app.command("check")(check.command)
app.command("compare")(compare.command)
app.command("report")(report.command)
app.command("build")(build.command)
app.command("profile")(profile.command)
app.command("list")(listing.command)
app.command("trace")(trace.command)
app.command("claims")(claims.command)
app.command("capacity")(capacity.command)
app.command("history")(history.command)
app.command("doctor")(doctor.command)


def _version(wanted: bool) -> None:
    if wanted:
        from blockmark import __version__

        typer.echo(f"blockmark {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_version, is_eager=True
    ),
) -> None:
    """Microbenchmarks for the block manager of a paged KV cache."""


def main() -> None:
    """Entry point: run a command, and turn its known errors into a line and a code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that can't show a letter gets its escape, not a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        message = error.format_message().rstrip(".")
        if not message:  # no arguments: the help was printed
            sys.exit(EXIT_USAGE)
        _fail(f"{message}; see blockmark --help", EXIT_USAGE)
    except typer.Abort:
        sys.exit(EXIT_INTERRUPTED)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        # The reader (head, say) has seen enough; Python would complain at exit.
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        code = known_errors(error)
        if code is None:
            raise
        _fail(str(error), code)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> None:
    typer.echo(f"error: {' '.join(message.split())}", err=True)
    sys.exit(code)
