"""`blockmark build`: a C++ header of one's own into a module that can be measured."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from .lines import say

_MEASURED = {
    "pool": "measured alone, and as the pool of the flat table",
    "table": "measured with the pool stack",
    "manager": "measured as it is",
}


def command(
    header: Annotated[Path, typer.Argument(metavar="HEADER", help="A header of your own.")],
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE.so", help="Write the module here too [default: kept aside]."),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Show all that the compiler says of an error.")
    ] = False,
) -> int:
    """Compile the tables, pools and managers that a C++ header offers.

    The header includes <blockmark.hpp> and has a line for each class: BLOCKMARK_POOL(Class),
    BLOCKMARK_TABLE(Class) or BLOCKMARK_MANAGER(Class). It is compiled as the core was, and
    runs in the same loop. `run`, `verify`, `compare` and `check` build a header by themselves.
    """
    from blockmark_impls.build import BuildError, build_header
    from blockmark_impls.user_native import offers_of

    if output is not None:
        _check_output(output)
    try:
        module = build_header(header, output=output)
        offers = offers_of(str(header))
    except BuildError as error:
        if verbose and error.log:
            typer.echo(error.log, err=True, nl=False)
        elif error.log:
            raise BuildError(f"{error} (--verbose shows the whole)") from None
        raise
    width = max(len(offer.class_name) for offer in offers)
    for offer in offers:
        say(
            f"{offer.kind:8} {offer.class_name:{width}}  {_MEASURED[offer.kind]}; "
            f"ids {offer.id_type}, reuse {offer.reuse_order}",
            hanging="  ",
        )
    typer.echo(f"built    {module}")
    place = header if output is None else output
    class_name = "" if len(offers) == 1 else f":{offers[0].class_name}"
    target = shlex.quote(f"mine={place}{class_name}")
    typer.echo(f"next     blockmark verify --impl {target}")
    return 0


def _check_output(output: Path) -> None:
    from blockmark.workload.errors import ConfigError

    if output.suffix != ".so":
        raise ConfigError(f"--output {output}: the name of a module must end in .so")
    if not output.absolute().parent.is_dir():
        raise ConfigError(f"--output {output}: there is no folder {output.absolute().parent}")
