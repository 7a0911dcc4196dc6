"""Convert the matrix of a campaign to a draft: fields of the first pages, dimensions, exclusions. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from app.campaign_file.dimensions import word_of
from app.campaign_file.kinds import Key
from app.campaign_file.matrix import fitting_start, situation_of
from app.campaign_file.partial import Partial, given_keys, merge, nested
from app.campaign_file.problems import KeyPath, Problems
from app.campaign_file.reader import CampaignReader, build_configuration
from app.campaign_file.rules import Stated
from app.domain.campaign.configuration import Campaign, Configuration, DiskTarget
from app.domain.campaign.matrix import (
    Change,
    DimensionValue,
    Matrix,
    MatrixDimension,
    default_name,
)
from app.domain.filesystems import filesystem
from app.draft.disks.target import read_option

_FILESYSTEM: Key = ("target", DiskTarget.kind, "filesystem")
_SETTINGS: Key = ("postgresql", "settings")


def excluded_names(matrix: Matrix) -> list[dict[str, list[str]]]:
    """Return the names of the values of each exclusion, by the name of their dimension."""
    return [
        {
            matrix.dimensions[place].name: [matrix.dimensions[place].values[value].name for value in values]
            for place, values in exclusion
        }
        for exclusion in matrix.exclusions
    ]


def open_matrix(campaign: Campaign, matrix: Matrix) -> tuple[Configuration, list[MatrixDimension]]:
    """Return the content of the pages before the dimensions, and the dimensions that build this matrix again.

    The pages show the values that every configuration starts with; a key that only a dimension sets shows its
    first value. Options that the pages cannot show are dimensions with a single value.
    """
    reader = CampaignReader(Path("/"), Problems())
    start = _fitting(_filling(matrix), matrix.shared)
    partials = [reader.read_partial(nested(changes), KeyPath()) for changes in (start, matrix.shared)]
    made = None if reader.problems.count else _configuration(reader, partials, campaign.name)
    if made is None:  # such as a script that is no longer readable
        return campaign.configurations[0], [*matrix.dimensions]
    fits = given_keys(fitting_start(partials[1], situation_of(partials)))
    lost = [each for each in matrix.shared if each.key not in fits and _is_option(each)]
    return made, [*matrix.dimensions, *map(_single, lost)]


def _filling(matrix: Matrix) -> list[Change]:
    """Return for each dimension the changes common to all its values, as one of them states them.

    That is the first value; of filesystems the first that has the common options.
    """
    wanted = {each.key[3] for each in matrix.shared if _is_option(each)}
    found = []
    for each in matrix.dimensions:
        everywhere = set.intersection(*({change.key for change in value.changes} for value in each.values))
        found += [change for change in _chosen(each, wanted).changes if change.key in everywhere]
    return found


def _fitting(filling: Sequence[Change], shared: Sequence[Change]) -> list[Change]:
    """Return the changes for the pages, without those that may suit only one filesystem of a dimension.

    The pages show the common starting filesystem. Filesystems have options of the same name with other
    limits, and one may allow server settings that another forbids (full_page_writes); the dimensions set them
    anyway.
    """
    shown = next((each.value for each in (*shared, *filling) if each.key == _FILESYSTEM), "")
    options = {each.id: each for each in filesystem(shown).options} if shown else {}
    return [
        each
        for each in filling
        if each.key[:2] != _SETTINGS
        if not _is_option(each)
        or each.key[3] not in options
        or read_option(options[each.key[3]], str(each.value)) is not None
    ]


def _chosen(dimension: MatrixDimension, wanted: set[str]) -> DimensionValue:
    for value in dimension.values:
        name = next((change.value for change in value.changes if change.key == _FILESYSTEM), "")
        if name and wanted <= {each.id for each in filesystem(name).options}:
            return value
    return dimension.values[0]


def _configuration(reader: CampaignReader, partials: Sequence[Partial], name: str) -> Configuration | None:
    there = situation_of(partials)
    given = merge(fitting_start(each, there) for each in partials)
    target, _ = reader.make_target(given)
    return build_configuration(name, Stated(KeyPath(), given, target))


def _is_option(change: Change) -> bool:
    return change.key[:3] == ("target", DiskTarget.kind, "options") and len(change.key) == 4


def _single(change: Change) -> MatrixDimension:
    key = ".".join(change.key)
    return MatrixDimension(default_name(key), (DimensionValue(word_of(change.value), (change,)),), key)
