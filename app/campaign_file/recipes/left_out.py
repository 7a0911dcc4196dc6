"""What of a recipe this machine cannot measure: it is left out with the reason, the rest is measured.

Recipes repeat experiments of other years: kernels have lost options since, filesystems are missing, servers
are built without some methods. In a campaign of somebody's own the same is a mistake, and refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.campaign_file.reader import CampaignFile
from app.campaign_file.recipes.adapt import Adapted, fill_disks, keep, placeholders, quick_variant
from app.campaign_file.recipes.head import RecipeHead
from app.campaign_file.recipes.on_servers import NamedServer, on_servers
from app.domain.campaign.configuration import Campaign, Configuration, DiskTarget
from app.domain.errors import SettingError, UsageError
from app.domain.storage_plan.reader import PlanError
from app.domain.text import tr
from app.postgres.installations.find import choose_installation, find_installations
from app.postgres.installations.installation import Installation, describe_installation
from app.postgres.known_settings import check_settings
from app.postgres.settings import Origin, Setting
from app.process.starter import Account, CommandOutcome, Recorder
from app.storage.layout.availability import Support, read_support
from app.storage.layout.disk_target import check_support


def _ignore(_outcome: CommandOutcome) -> None:
    """Record nothing."""


@dataclass(frozen=True, slots=True)
class RecipePlaces:
    """Where somebody wants a recipe to be measured.

    Attributes:
        disks: serial numbers or WWNs, in the order of members.
        most_used: disks beyond those that there are places for are not used; else they are refused.
        servers: that already run, in place of disks and of everything else that would be made here.
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
    """Return what a recipe becomes on this machine: on these disks, and without what cannot be measured.

    On servers that already run it becomes its workload there.

    Args:
        file: of the recipe.
        places: where it is to be measured.
        quick: whether its quick variant is wanted.
        account: who will run the server.
        record: told of every command.

    Raises:
        UsageError: it is no recipe, has no quick variant, wants other disks, or is for no such server.
        CampaignError: nothing is left.
        InstallationError: no PostgreSQL that can be used.
        ProgramError: the server's program cannot be started.
    """
    head = file.head
    if head is None:
        message = tr(
            "This campaign is no recipe: it has no [recipe], so that it can only be run as it stands."
        )
        raise UsageError(message, hint=tr("Leave --quick, --disks and --server out."))
    campaign = quick_variant(file.campaign, head) if quick else file.campaign
    if places.servers:
        if places.disks:
            message = tr("--disks and --server exclude each other: nothing is made on a server's disks.")
            raise UsageError(message)
        return fit_to_machine(on_servers(campaign, head, places.servers), head, account, record)
    used = places.disks[: placeholders(campaign)] if places.most_used else places.disks
    filled = fill_disks(campaign, head, used)
    fitted = fit_to_machine(filled.campaign, head, account, record)
    return Adapted(fitted.campaign, (*filled.left_out, *fitted.left_out))


def fit_to_machine(campaign: Campaign, head: RecipeHead, account: Account, record: Recorder) -> Adapted:
    """Return what of a recipe's campaign can be measured here.

    Whether its disks are here and spare is not asked: the start of the campaign does.

    Args:
        campaign: of a recipe, on the user's disks.
        head: of the recipe.
        account: who will run the server.
        record: told of every command.

    Raises:
        CampaignError: nothing is left.
        InstallationError: no PostgreSQL that can be used.
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
    """Return why an installation is not what a recipe is for; empty where it is."""
    if installation.major >= head.postgresql:
        return ""
    message = tr("This recipe is for PostgreSQL {wanted} and later; here is {found}.")
    return message.format(wanted=head.postgresql, found=describe_installation(installation))


def unsupported(item: Configuration, support: Support) -> str:
    """Return what kernel or programs lack for a configuration; empty where nothing."""
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
    """Return why the server does not take a configuration's own settings; empty where it does."""
    pairs = item.postgresql.settings
    settings = [Setting(name, value, "", "", Origin.USER) for name, value in pairs]
    try:
        check_settings(settings, installation, account, record)
    except SettingError as error:
        return error.message
    return ""
