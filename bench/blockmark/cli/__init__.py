"""The command line: one file a command, each of which parses, calls and prints.

Nothing heavy is imported until a command runs, so that `--help` and `list` are quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import typer

from . import (
    build,
    capacity,
    check,
    claims,
    compare,
    contention,
    doctor,
    history,
    init,
    listing,
    profile,
    record,
    report,
    run,
    show,
    trace,
    verify,
)
from .errors import EXIT_INTERRUPTED, EXIT_USAGE, known_errors, one_message

_LEAST_COLUMNS, _MOST_COLUMNS = 20, 10_000

app = typer.Typer(
    name="blockmark",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    # Markup costs half of the start-up time and puts escapes into CI logs.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

# In the order of use, which is that of the help: measure, judge, look again, find out.
_COMMANDS: dict[str, Callable[..., int]] = {
    "run": run.command,
    "contention": contention.command,
    "capacity": capacity.command,
    "claims": claims.command,
    "profile": profile.command,
    "verify": verify.command,
    "check": check.command,
    "compare": compare.command,
    "history": history.command,
    "show": show.command,
    "report": report.command,
    "init": init.command,
    "build": build.command,
    "record": record.command,
    "trace": trace.command,
    "list": listing.command,
    "doctor": doctor.command,
}
for _name, _command in _COMMANDS.items():
    # Said whole: the first sentence would be cut to fit one line.
    app.command(_name, short_help=(_command.__doc__ or "").partition("\n")[0])(_command)


def _version(wanted: bool) -> None:
    if wanted:
        from blockmark import __version__

        typer.echo(f"blockmark {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    ctx: typer.Context,
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_version, is_eager=True
    ),
) -> None:
    """Microbenchmarks for the block manager of a paged KV cache.

    `blockmark run` is the place to start, `blockmark init` the one for code of your own.
    """
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit(EXIT_USAGE)


def main() -> None:
    """Entry point: run a command, and turn its known errors into a line and a code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that can't show a letter gets its escape, not a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    _check_columns()
    try:
        code = app(prog_name="blockmark", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "blockmark"
        message = error.format_message().rstrip(".")
        _fail(f"{message}; see {path} --help", EXIT_USAGE)
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("interrupted", err=True)
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


def _check_columns() -> None:
    """COLUMNS is read by all that wraps lines, here and elsewhere, and none of it checks it.

    What is no width is as if it were not set; in less than 20 columns no number stays whole.
    """
    asked = os.environ.pop("COLUMNS", "")
    if asked.isascii() and asked.isdigit() and (width := int(asked[:9])):
        os.environ["COLUMNS"] = str(min(max(width, _LEAST_COLUMNS), _MOST_COLUMNS))


def _fail(message: str, code: int) -> None:
    typer.echo(one_message(f"error: {message}"), err=True)
    sys.exit(code)
