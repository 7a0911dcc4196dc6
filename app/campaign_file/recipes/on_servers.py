"""Run a recipe on servers that already run: its configurations, its preparations. Pure.

pgFooting creates no filesystem there and restarts nothing. Storage and server settings of a recipe are
prepared by the owner, step by step; only the workload is left, measured on each server. Filesystems are then
measured one after the other, in a campaign each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from app.campaign_file.fields import TARGETS
from app.campaign_file.kinds import Name
from app.campaign_file.problems import InvalidValueError
from app.campaign_file.recipes.head import RecipeHead, ServerVariant
from app.domain.campaign.configuration import (
    Campaign,
    Configuration,
    DataSet,
    DataSize,
    PostgresChoice,
    ServerTarget,
    Workload,
)
from app.domain.errors import UsageError
from app.domain.text import CALLED, tr
from app.statistics.sample_size import RUNS_FOR_A_REFERENCE

MOST_SERVERS: Final = 8

_ROLE: Final = tr(
    "There, as its superuser: CREATE ROLE pgfooting LOGIN CREATEDB PASSWORD '...'; and, to see more and to "
    "write a checkpoint before measuring, GRANT pg_monitor TO pgfooting; (from 15 on also pg_checkpoint)."
)
_HBA: Final = tr(
    "In its pg_hba.conf: host all pgfooting ADDRESS/32 scram-sha-256, with the address of this machine, and "
    "SELECT pg_reload_conf(); listen_addresses has to name an address there that is reached from here, which "
    "wants a restart where it is changed."
)
_PASSWORD: Final = tr("Here: the password in ~/.pgpass; it is never part of a connection string.")
_SETTINGS: Final = tr(
    "In its postgresql.conf, as the recipe has it, and the same in every campaign: {settings}. Some settings "
    "want a restart, which pgFooting never does there."
)
_RUN: Final = tr(
    "Measure it; --ssh asks its machine for filesystem and disks, which nobody knows without: {command} run "
    '{recipe!q} --server "host=db.example user=pgfooting" --as "what it lies on" --ssh db.example'
)
_NEXT: Final = tr(
    "Between two campaigns: stop the server, unmount, make the next filesystem on the same disk, and repeat "
    "every step, with the same postgresql.conf. Call each campaign's server by what it lies on (--as, in the "
    "wizard the name of its configuration)."
)
_REFERENCE: Final = tr(
    "Two campaigns are ranked only by a common reference: a second server on that machine, on a filesystem "
    "that stays as it is, with a port of its own. Name it in both with one more --server, --as reference and "
    "--ssh (in the wizard “Add a reference”); it is measured beside the other, "
    "at least {runs} times in each."
)


@dataclass(frozen=True, slots=True)
class NamedServer:
    """A server that already runs.

    Attributes:
        name: of its configuration.
        target: its connection.
    """

    name: str
    target: ServerTarget


def named_servers(
    connections: Sequence[str], names: Sequence[str] = (), ssh: Sequence[str] = (), room: str = ""
) -> tuple[NamedServer, ...]:
    """Return servers from typed texts.

    Args:
        connections: libpq connection strings.
        names: of the first ones; the others are called server, server 2 ...: never by their host, which
            anonymous exports omit.
        ssh: ssh name of each machine, or one name for all; empty to not use ssh.
        room: size limit of pgFooting's database on each; empty for none.

    Raises:
        UsageError: too many, a duplicate, or a text that the keys of campaign files reject.
    """
    if len(connections) > MOST_SERVERS:
        message = tr("Servers given: {count}; at most {most} are measured in one campaign.")
        raise UsageError(message.format(count=len(connections), most=MOST_SERVERS))
    if not connections and (names or ssh or room):
        raise UsageError(tr("--as, --ssh and --room go with --server, in the order of --server."))
    if len(names) > len(connections) or (len(ssh) > 1 and len(ssh) != len(connections)):
        message = tr(
            "--as names the servers in the order of --server; --ssh is given once for all or for each."
        )
        raise UsageError(message)
    numbered = (tr("server {number}").format(number=at) for at in range(2, MOST_SERVERS + 1))
    usual = [tr("server"), *numbered]
    machines = list(ssh) * len(connections) if len(ssh) == 1 else [*ssh, *[""] * len(connections)]
    found = tuple(
        NamedServer(_read_name(name), _read_target(connection, machine, room))
        for name, connection, machine in zip(
            [*names, *usual[len(names) :]], connections, machines, strict=False
        )
    )
    for candidates in ([each.name for each in found], [each.target.connection for each in found]):
        if len(set(candidates)) < len(candidates):
            raise UsageError(tr("Each server has a name (--as) and a connection (--server) of its own."))
    return found


def _read_name(text: str) -> str:
    try:
        return Name().read(text, Path())
    except InvalidValueError as error:
        raise _unfit("--as", error) from error


def _read_target(connection: str, ssh: str, room: str) -> ServerTarget:
    (table,) = (each for each in TARGETS if each.make is ServerTarget)
    given = {"connection": connection, "ssh": ssh, "room": room}
    options = {"connection": "--server", "ssh": "--ssh", "room": "--room"}
    values: dict[str, Any] = {}
    for field in table.fields:
        if not given[field.name] and field.name != "connection":
            continue
        try:
            values[field.attribute] = field.kind.read(given[field.name], Path())
        except InvalidValueError as error:
            raise _unfit(options[field.name], error) from error
    return ServerTarget(**values)


def _unfit(option: str, error: InvalidValueError) -> UsageError:
    return UsageError(f"{option}: {' '.join(each.message for each in error.problems)}")


def server_variant(name: str, head: RecipeHead | None) -> ServerVariant:
    """Return the variant of a recipe for servers that already run.

    Args:
        name: of the campaign.
        head: of the recipe.

    Raises:
        UsageError: it has none.
    """
    if head is None or head.server is None:
        message = tr("“{name}” has no variant for a server that already runs.")
        hint = tr(
            "“{command} recipes” tells which have one; a campaign file of your own has [target.server]."
        )
        raise UsageError(message.format(name=name), hint=hint.format(command=CALLED))
    return head.server


def on_servers(campaign: Campaign, head: RecipeHead | None, servers: Sequence[NamedServer]) -> Campaign:
    """Return a recipe reduced to its workload, on each of these servers.

    Repeats are raised to the number that a comparison with other campaigns needs.

    Args:
        campaign: of the recipe, or of its quick variant.
        head: of the recipe.
        servers: at least one.

    Raises:
        UsageError: it cannot use such servers.
    """
    variant = server_variant(campaign.name, head)
    workloads: dict[Workload, str] = {}
    for item in campaign.configurations:
        workloads.setdefault(_workload_there(item.workload, variant), item.name)
    configurations = tuple(
        Configuration(
            server.name if len(workloads) == 1 else f"{server.name}, {name}",
            server.target,
            PostgresChoice(),
            workload,
        )
        for workload, name in workloads.items()
        for server in servers
    )
    settings = settings_words(campaign)
    sentence = tr("The server is as its owner set it up; the recipe wants: {settings}.")
    remarks = (sentence.format(settings=settings),) if settings else ()
    return replace(
        campaign,
        name=_name_there(campaign.name, servers),
        configurations=configurations,
        matrix=None,
        repeats=max(campaign.repeats, RUNS_FOR_A_REFERENCE),
        io_baseline=False,
        remarks=(*campaign.remarks, *remarks),
    )


def _name_there(name: str, servers: Sequence[NamedServer]) -> str:
    """Return a name that distinguishes campaigns of one recipe: by the servers other than a reference."""
    usual = {tr("server"), "reference", tr("reference")}
    text = ", ".join([name, *(each.name for each in servers if each.name not in usual)])
    return text if len(text) <= Name().longest else name


def _workload_there(workload: Workload, variant: ServerVariant) -> Workload:
    """Return a workload with loaded data, and a size that does not depend on this machine's memory."""
    changed = replace(workload, data_set=DataSet.LOADED)
    if isinstance(workload.size, DataSize) and workload.size is not DataSize.SMALL and variant.scale:
        return replace(changed, size=None, scale=variant.scale)
    return changed


def settings_words(campaign: Campaign) -> str:
    """Return the server settings common to all configurations of a recipe, as in postgresql.conf."""
    first, *others = (item.postgresql.settings for item in campaign.configurations)
    shared = [pair for pair in first if all(pair in other for other in others)]
    return ", ".join(f"{name} = {value}" for name, value in shared)


def server_steps(name: str, campaign: Campaign, head: RecipeHead) -> tuple[str, ...]:
    """Return the preparations of a server for a recipe and its measurement, step by step; empty for none.

    Args:
        name: of the recipe.
        campaign: of the recipe.
        head: of the recipe.
    """
    if head.server is None:
        return ()
    settings = settings_words(campaign)
    return (
        *head.server.prepare,
        *([_SETTINGS.format(settings=settings)] if settings else []),
        _ROLE,
        _HBA,
        _PASSWORD,
        _RUN.format(command=CALLED, recipe=name),
        _NEXT,
        _REFERENCE.format(runs=RUNS_FOR_A_REFERENCE),
    )
