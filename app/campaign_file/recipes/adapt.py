"""Turn a recipe into a campaign for this machine: disks for its placeholders, the quick variant.

In a recipe disks are called SERIAL-OF-DISK-1, SERIAL-OF-DISK-2 ... Each is replaced by one of the user's;
with fewer disks the groups become smaller, and impossible configurations are skipped.

Configurations that this machine cannot measure are skipped with a reason. Recipes repeat experiments of other
years: kernels have lost options since, filesystems are missing, servers are built without some methods. In a
user's own campaign the same is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from app.campaign_file.fields import TARGETS
from app.campaign_file.kinds import Name
from app.campaign_file.problems import InvalidValueError
from app.campaign_file.reader import CampaignFile
from app.campaign_file.recipes.head import (
    LONGEST_SENTENCE,
    MOST_QUICK_CONFIGURATIONS,
    MOST_SENTENCES,
    QuickVariant,
    RecipeHead,
    ServerVariant,
)
from app.domain.campaign.configuration import (
    Caches,
    Campaign,
    Configuration,
    DataSet,
    DataSize,
    DiskTarget,
    GroupChoice,
    PostgresChoice,
    ServerTarget,
    Workload,
    WorkloadPhase,
)
from app.domain.campaign.disk_target import target_problems
from app.domain.campaign.matrix import Design
from app.domain.errors import CampaignError, SettingError, UsageError, did_you_mean
from app.domain.storage_plan.reader import PlanError
from app.domain.text import CALLED, quoted, tr
from app.postgres.installations.installation import (
    Installation,
    choose_installation,
    describe_installation,
    find_installations,
)
from app.postgres.settings import Origin, Setting, check_settings
from app.process.starter import Account, CommandOutcome, Recorder
from app.statistics.sample_size import RUNS_FOR_A_REFERENCE
from app.storage.layout.disk_target import Support, check_support, read_support

# Run a recipe on servers that already run: its configurations, its preparations. Pure.
#
# pgFooting creates no filesystem there and restarts nothing. Storage and server settings of a recipe are
# prepared by the owner, step by step; only the workload is left, measured on each server. Filesystems are
# then measured one after the other, in a campaign each.


MOST_SERVERS: Final = 8

_ROLE: Final = tr(
    "On the server, run as superuser: CREATE ROLE pgfooting LOGIN CREATEDB PASSWORD '...'. Optional, for "
    "statistics and checkpoints: GRANT pg_monitor TO pgfooting; (version 15 or newer also pg_checkpoint)."
)
_HBA: Final = tr(
    "Add to its pg_hba.conf, with this machine's address: host all pgfooting ADDRESS/32 scram-sha-256. Then "
    "run SELECT pg_reload_conf(). listen_addresses must include a reachable address; a change needs a "
    "restart."
)
_PASSWORD: Final = tr("On this machine, put the password in ~/.pgpass, never in the connection string.")
_SETTINGS: Final = tr(
    "Set in its postgresql.conf, identically in every campaign: {settings}. Some need a restart, which "
    "pgFooting never triggers there."
)
_RUN: Final = tr(
    'Measure it: {command} run {recipe!q} --server "host=db.example user=pgfooting" --as "its storage" --ssh '
    "db.example. Without --ssh, pgFooting cannot see the filesystem and the disks."
)
_NEXT: Final = tr(
    "Between campaigns, stop the server, unmount, and create the next filesystem on the same disk. Repeat "
    "all steps with the same postgresql.conf, and name the server after its storage (--as)."
)
_REFERENCE: Final = tr(
    "To rank campaigns, measure a second, unchanged server there, at least {runs} times in each. Add one "
    "more --server, --as reference and --ssh (wizard: “Add a reference”)."
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
        message = tr("At most {most} servers can be measured in one campaign, but {count} were given.")
        raise UsageError(message.format(count=len(connections), most=MOST_SERVERS))
    if not connections and (names or ssh or room):
        raise UsageError(tr("--as, --ssh and --room need --server, in the same order."))
    if len(names) > len(connections) or (len(ssh) > 1 and len(ssh) != len(connections)):
        message = tr("Give --as in the order of --server; give --ssh once for all, or once per server.")
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
            raise UsageError(tr("Each server needs its own name (--as) and connection (--server)."))
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
        message = tr("“{name}” has no variant for an existing server.")
        hint = tr(
            "“{command} recipes” shows which ones do; a campaign file of your own can use [target.server]."
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
    sentence = tr("pgFooting does not change the server's settings. The recipe expects {settings}.")
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


_PLACEHOLDER: Final = re.compile(r"SERIAL-OF-DISK-([1-9]\d?)", re.ASCII)
_LONGEST_NAME: Final = 80
_MOST_NAMED: Final = 4


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A skipped configuration of a recipe.

    Attributes:
        name: of the configuration.
        reason: one or more sentences.
    """

    name: str
    reason: str


def left_out_sentences(left_out: Iterable[LeftOut]) -> tuple[str, ...]:
    """Return the skipped configurations, one sentence for each reason."""
    names: dict[str, list[str]] = {}
    for each in left_out:
        names.setdefault(each.reason, []).append(each.name)
    return tuple(_left_out_sentence(found, reason) for reason, found in names.items())


def _left_out_sentence(names: Sequence[str], reason: str) -> str:
    if len(names) == 1:
        return tr("“{name}” is skipped. {reason}").format(name=names[0], reason=reason)
    shown = ", ".join(quoted(name) for name in names[:_MOST_NAMED])  # commas in names
    if len(names) > _MOST_NAMED:
        shown = tr("{names} and {count} more").format(names=shown, count=len(names) - _MOST_NAMED)
    sentence = tr("{count} configurations are skipped ({names}). {reason}")
    return sentence.format(count=len(names), names=shown, reason=reason)


@dataclass(frozen=True, slots=True)
class Adapted:
    """An adapted recipe.

    Attributes:
        campaign: with the remaining configurations.
        left_out: the skipped ones.
    """

    campaign: Campaign
    left_out: tuple[LeftOut, ...] = ()


def with_remarks(adapted: Adapted, head: RecipeHead | None, *, quick: bool) -> Campaign:
    """Return the campaign of a recipe with its question, and remarks for its result.

    Args:
        adapted: the adapted recipe.
        head: of the recipe.
        quick: whether it is the quick variant, which cannot show everything.
    """
    campaign = adapted.campaign
    remarks = list(campaign.remarks)
    if quick and head is not None and head.quick is not None:
        remarks.append(tr("The quick variant cannot show: {what}").format(what=head.quick.cannot_show))
    remarks += left_out_sentences(adapted.left_out)
    if head is not None:
        campaign = replace(campaign, question=head.question, figures=head.figures or None)
    return replace(campaign, remarks=tuple(map(_one_sentence, remarks[:MOST_SENTENCES])))


def _one_sentence(text: str) -> str:
    """Return a text as campaign files allow it: on one line, and not too long."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= LONGEST_SENTENCE else line[: LONGEST_SENTENCE - 1].rstrip() + "…"


def placeholders(campaign: Campaign) -> int:
    """Return how many disk placeholders a recipe has; 0 for none."""
    names = (name for item in campaign.configurations for name in _names(item))
    return max((int(match[1]) for match in map(_PLACEHOLDER.fullmatch, names) if match), default=0)


def fill_disks(campaign: Campaign, head: RecipeHead, serials: Sequence[str]) -> Adapted:
    """Return a recipe's campaign on the user's disks.

    Args:
        campaign: of the recipe.
        head: of the recipe.
        serials: of the disks, in the order of members; empty if the recipe has no placeholders.

    Raises:
        UsageError: too few or too many disks, or a duplicate.
        CampaignError: no configuration is left.
    """
    most = placeholders(campaign)
    if not most and serials:
        raise UsageError(tr("This campaign uses no disks: remove --disks."))
    if not most:
        return Adapted(campaign)
    least = head.disks or most
    if not least <= len(serials) <= most or len(set(serials)) != len(serials):
        wanted = str(least) if least == most else tr("{low} to {high}").format(low=least, high=most)
        message = tr("{wanted} different spare disks are needed, but {count} were given.")
        hint = tr("Name them with --disks SERIAL,SERIAL,…; “pgfooting disks” lists the spare ones.")
        raise UsageError(message.format(wanted=wanted, count=len(set(serials))), hint=hint)
    return keep(campaign, lambda item: _on_disks(item, serials))


def quick_variant(campaign: Campaign, head: RecipeHead | None) -> Campaign:
    """Return the quick variant of a recipe's campaign; its data is loaded once, if it can be copied.

    Raises:
        UsageError: it has none.
        CampaignError: it names an unknown configuration, or keeps too many.
    """
    if head is None or head.quick is None:
        raise UsageError(tr("This campaign has no quick variant: remove --quick."))
    quick = head.quick
    known = [item.name for item in campaign.configurations]
    for name in quick.configurations:
        if name not in known:
            message = tr("recipe.quick.configurations: there is no configuration “{name}”.")
            near = did_you_mean(name, known)
            raise CampaignError(f"{message.format(name=name)} {near}".rstrip(), field="recipe.quick")
    kept = [
        item
        for item in campaign.configurations
        if not quick.configurations or item.name in quick.configurations
    ]
    if len(kept) > MOST_QUICK_CONFIGURATIONS:
        message = tr("recipe.quick keeps {count} configurations; at most {most} are allowed.")
        words = message.format(count=len(kept), most=MOST_QUICK_CONFIGURATIONS)
        raise CampaignError(words, field="recipe.quick.configurations")
    may_copy = all(len(item.target.of_relations) == 1 for item in kept if isinstance(item.target, DiskTarget))
    data_set = DataSet.COPIED if may_copy else DataSet.LOADED  # must be the same in all configurations
    return replace(
        campaign,
        name=_quick_name(campaign.name),
        configurations=tuple(
            replace(item, workload=replace(_quick_workload(item.workload, quick), data_set=data_set))
            for item in kept
        ),
        matrix=None,  # part of the cells is not a matrix
        repeats=quick.repeats,
        design=Design.FIXED,  # with so few repeats nothing is dropped early
        precision=None,
        io_baseline=False,
        repeat_disturbed=0,
    )


def keep(campaign: Campaign, change: Callable[[Configuration], Configuration | str]) -> Adapted:
    """Apply `change` to each configuration of a campaign; it returns a reason to skip one.

    Raises:
        CampaignError: no configuration is left.
    """
    kept: list[Configuration] = []
    left_out: list[LeftOut] = []
    for item in campaign.configurations:
        changed = change(item)
        if isinstance(changed, str):
            left_out.append(LeftOut(item.name, changed))
        else:
            kept.append(changed)
    if not kept:
        reasons = dict.fromkeys(each.reason for each in left_out)
        message = tr("No configuration of “{name}” can be measured here. {reasons}")
        raise CampaignError(message.format(name=campaign.name, reasons=" ".join(reasons)))
    return Adapted(replace(campaign, configurations=tuple(kept), matrix=None), tuple(left_out))


def _quick_name(name: str) -> str:
    mark = tr(" (quick)")
    return name[: _LONGEST_NAME - len(mark)].rstrip() + mark


def _quick_workload(workload: Workload, quick: QuickVariant) -> Workload:
    clients = workload.clients if quick.clients is None else quick.clients
    threads = None if workload.threads is None else min(workload.threads, clients)
    return replace(
        workload,
        scale=quick.scale,
        size=None,
        duration_s=quick.duration_s,
        transactions=None,
        warmup_s=0 if workload.caches is Caches.COLD else min(quick.warmup_s, workload.warmup_s),
        clients=clients,
        threads=threads,
        phases=tuple(_quick_phase(phase, quick) for phase in workload.phases),
    )


def _quick_phase(phase: WorkloadPhase, quick: QuickVariant) -> WorkloadPhase:
    """Return a phase with the length of the quick variant, run once."""
    changed = replace(phase, times=1, duration_s=None, transactions=None)
    return changed if quick.clients is None else replace(changed, clients=None, threads=None)


def _names(item: Configuration) -> tuple[str, ...]:
    return item.target.names if isinstance(item.target, DiskTarget) else ()


def _on_disks(item: Configuration, serials: Sequence[str]) -> Configuration | str:
    """Return a configuration on the user's disks, or why that is impossible."""
    target = item.target
    if not isinstance(target, DiskTarget):
        return item

    def group(part: GroupChoice) -> GroupChoice:
        return replace(part, disks=_found(part.disks, serials))

    filled = replace(
        target,
        data=group(target.data),
        zfs_log=_found(target.zfs_log, serials),
        wal=group(target.wal) if target.wal else None,
        tables=group(target.tables) if target.tables else None,
        indexes=group(target.indexes) if target.indexes else None,
    )
    lost = any(not part.disks for _, part in filled.groups) or bool(target.zfs_log) > bool(filled.zfs_log)
    if lost:
        return tr("It needs more disks than were given.")
    problems = target_problems(filled)
    if problems:
        return " ".join(f"{each.message} {each.hint}".strip() for each in problems)
    return replace(item, target=filled)


def _found(names: Iterable[str], serials: Sequence[str]) -> tuple[str, ...]:
    """Return the user's disks for placeholders; other names are kept."""
    found: list[str] = []
    for name in names:
        match = _PLACEHOLDER.fullmatch(name)
        if match is None:
            found.append(name)
        elif int(match[1]) <= len(serials):
            found.append(serials[int(match[1]) - 1])
    return tuple(found)


def _ignore(_outcome: CommandOutcome) -> None:
    """Record nothing."""


@dataclass(frozen=True, slots=True)
class RecipePlaces:
    """The storage for a recipe.

    Attributes:
        disks: serial numbers or WWNs, in the order of members.
        most_used: ignore disks beyond the placeholders; else they are refused.
        servers: that already run; they replace disks and all storage that would be created here.
    """

    disks: Sequence[str] = ()
    most_used: bool = False
    servers: Sequence[NamedServer] = ()


def adapt_recipe(
    file: CampaignFile,
    places: RecipePlaces,
    *,
    quick: bool,
    account: Account,
    record: Recorder = _ignore,
) -> Adapted:
    """Return a recipe adapted to this machine: on these disks, without what cannot be measured.

    On servers that already run only its workload is left.

    Args:
        file: of the recipe.
        places: storage for it.
        quick: whether to use its quick variant.
        account: runs the server.
        record: called with every command.

    Raises:
        UsageError: it is not a recipe, has no quick variant, needs other disks, or is not for such servers.
        CampaignError: no configuration is left.
        InstallationError: there is no usable PostgreSQL.
        ProgramError: the server's program cannot be started.
    """
    head = file.head
    if head is None:
        message = tr("This campaign has no [recipe] table, so it has no variants.")
        raise UsageError(message, hint=tr("Remove --quick, --disks and --server."))
    campaign = quick_variant(file.campaign, head) if quick else file.campaign
    if places.servers:
        if places.disks:
            message = tr(
                "--disks and --server cannot be used together: pgFooting formats no disks of an existing "
                "server."
            )
            raise UsageError(message)
        return fit_to_machine(on_servers(campaign, head, places.servers), head, account, record)
    used = places.disks[: placeholders(campaign)] if places.most_used else places.disks
    filled = fill_disks(campaign, head, used)
    fitted = fit_to_machine(filled.campaign, head, account, record)
    return Adapted(fitted.campaign, (*filled.left_out, *fitted.left_out))


def fit_to_machine(campaign: Campaign, head: RecipeHead, account: Account, record: Recorder) -> Adapted:
    """Return the configurations of a recipe's campaign that can be measured here.

    Does not check whether its disks are present and spare: the start of the campaign does.

    Args:
        campaign: of a recipe, on the user's disks.
        head: of the recipe.
        account: runs the server.
        record: called with every command.

    Raises:
        CampaignError: no configuration is left.
        InstallationError: there is no usable PostgreSQL.
        ProgramError: the server's program cannot be started.
    """
    on_disks = any(isinstance(item.target, DiskTarget) for item in campaign.configurations)
    support = read_support() if on_disks else None
    choices = {item.postgresql.installation for item in campaign.configurations}
    folders = sorted(choice for choice in choices if choice.startswith("/"))
    found = find_installations(account, folders, record=record)
    installations = {choice: choose_installation(choice, found) for choice in sorted(choices)}
    refused: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}

    def change(item: Configuration) -> Configuration | str:
        installation = installations[item.postgresql.installation]
        reason = too_old(head, installation) or (support and unsupported(item, support))
        if reason:
            return reason
        key = (installation.bin_directory, item.postgresql.settings)
        if key not in refused:
            refused[key] = _refused_settings(item, installation, account, record)
        return refused[key] or item

    return keep(campaign, change)


def too_old(head: RecipeHead, installation: Installation) -> str:
    """Return why an installation is too old for a recipe; empty if it is not."""
    if installation.major >= head.postgresql:
        return ""
    message = tr("This recipe needs PostgreSQL {wanted} or newer; found {found}.")
    return message.format(wanted=head.postgresql, found=describe_installation(installation))


def unsupported(item: Configuration, support: Support) -> str:
    """Return what kernel or programs lack for a configuration; empty if nothing."""
    if not isinstance(item.target, DiskTarget):
        return ""
    try:
        check_support(item.target, support, place="")
    except PlanError as error:
        return " ".join(each.message for each in error.problems)
    return ""


def _refused_settings(
    item: Configuration, installation: Installation, account: Account, record: Recorder
) -> str:
    """Return why the server rejects a configuration's own settings; empty if it accepts them."""
    pairs = item.postgresql.settings
    settings = [Setting(name, value, "", "", Origin.USER) for name, value in pairs]
    try:
        check_settings(settings, installation, account, record)
    except SettingError as error:
        return error.message
    return ""
