"""hakmem peers: builds and lists the allocators to compare with."""

from __future__ import annotations

import click

from . import allocators as registry
from . import peers, tables
from .cli import Group, build_option, console
from .errors import LabError
from .launcher import verify
from .places import find_places


@click.group(name="peers", cls=Group)
def peers_group() -> None:
    """Builds and lists the allocators to compare with."""


@peers_group.command(name="install")
@click.argument("names", nargs=-1)
@click.option("-j", "--jobs", default=2, show_default=True, type=click.IntRange(min=1))
@click.option("--keep-going", is_flag=True, help="Build the rest where one fails.")
def peers_install(names: tuple[str, ...], jobs: int, keep_going: bool) -> None:
    """Fetches, checks and builds peers into the cache [default: all]."""
    wanted = [peers.find_peer(name) for name in names] or list(peers.all_peers().values())
    failed = []
    for peer in wanted:
        try:
            console.print(f"{peer.name}: {peers.build(peer, jobs)}", soft_wrap=True)
        except LabError as error:
            if not keep_going:
                raise
            failed.append(peer.name)
            click.echo(f"{peer.name}: {error}", err=True)
    if failed:
        raise LabError(f"not built: {', '.join(failed)}")


# The name it had first.
peers_group.add_command(peers_install, "build")


@peers_group.command(name="list")
@build_option
def peers_list(build: str | None) -> None:
    """Shows every peer, whether it is built, and whether it takes effect."""
    places = find_places(build)
    table = tables.new_table("peers", "name", "what", "package", "state")
    for peer in peers.all_peers().values():
        state = "not built"
        if peer.library is not None:
            state = "built"
            if places.launcher.exists():
                verify(places.launcher, [places.program("ls"), "/"], registry.from_peer(peer))
                state = "built, takes effect"
        package = f"{peer.row['package']} {peer.row['version'].partition('-0-g')[0]}"
        table.add_row(peer.name, peer.title, package, state)
    console.print(table)
    console.print(f"cache: {peers.cache_folder()}")
