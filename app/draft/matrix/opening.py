"""From the matrix of a campaign back to a draft: first page fields, dimensions, what is left out. Pure."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from app.campaign_file.dimensions import read_layer
from app.campaign_file.fields import TARGETS
from app.campaign_file.kinds import Key
from app.campaign_file.layers import Layer, merge_layers
from app.campaign_file.matrix import fitting_start, situation_of
from app.campaign_file.problems import KeyPath, Problems
from app.campaign_file.reader import CampaignReader, build_configuration
from app.campaign_file.scopes import ScopedValue
from app.campaign_file.writer import change_lines
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


@dataclass(frozen=True, slots=True)
class OpenedMatrix:
    """What a draft makes of a matrix.

    Attributes:
        first: what the pages before the dimensions show.
        dimensions: of the page of dimensions.
        left_out: names of values by name of their dimension.
    """

    first: Configuration
    dimensions: list[MatrixDimension]
    left_out: list[dict[str, list[str]]]


def open_matrix(campaign: Campaign, matrix: Matrix) -> OpenedMatrix:
    """Return the parts of a draft that build this matrix again.

    The pages show what every configuration starts with; what only the dimensions say is their first value.
    """
    first, more = _first(campaign, matrix)
    left_out = [
        {
            matrix.dimensions[place].name: [matrix.dimensions[place].values[value].name for value in values]
            for place, values in exclusion
        }
        for exclusion in matrix.exclusions
    ]
    return OpenedMatrix(first, [*matrix.dimensions, *more], left_out)


def _first(campaign: Campaign, matrix: Matrix) -> tuple[Configuration, list[MatrixDimension]]:
    """Return what the pages show, and dimensions of one value for options that they cannot show."""
    reader = CampaignReader(Path("/"), Problems())
    layers = [
        _layer(reader, changes) for changes in (_fitting(_filling(matrix), matrix.shared), matrix.shared)
    ]
    made = None if reader.problems.count else _configuration(layers, campaign.name)
    if made is None:  # a script that cannot be read any more, say
        return campaign.configurations[0], []
    fits = fitting_start(layers[1], situation_of(layers)).given
    lost = [each for each in matrix.shared if each.key not in fits and _is_option(each)]
    return made, [_single(each) for each in lost]


def _layer(reader: CampaignReader, changes: Sequence[Change]) -> Layer:
    return read_layer(reader, tomllib.loads("\n".join(change_lines(changes))), KeyPath()) or Layer()


def _filling(matrix: Matrix) -> list[Change]:
    """Return of each dimension what all its values say otherwise, as one of them says it.

    That is the first value; of filesystems the first that has the options that all start with.
    """
    wanted = {each.key[3] for each in matrix.shared if _is_option(each)}
    found = []
    for each in matrix.dimensions:
        everywhere = set.intersection(*({change.key for change in value.changes} for value in each.values))
        found += [change for change in _chosen(each, wanted).changes if change.key in everywhere]
    return found


def _fitting(filling: Sequence[Change], shared: Sequence[Change]) -> list[Change]:
    """Return what fills the pages, without what may suit the filesystem of a dimension only.

    The pages show the one that all start with. Filesystems have options of one name with other bounds, and
    server settings that one may do without (full_page_writes) another needs; the dimensions say them anyway.
    """
    shown = next((str(_word(each)) for each in (*shared, *filling) if each.key == _FILESYSTEM), "")
    options = {each.id: each for each in filesystem(shown).options} if shown else {}
    return [
        each
        for each in filling
        if each.key[:2] != _SETTINGS
        if not _is_option(each)
        or each.key[3] not in options
        or read_option(options[each.key[3]], str(_word(each))) is not None
    ]


def _chosen(dimension: MatrixDimension, wanted: set[str]) -> DimensionValue:
    for value in dimension.values:
        name = next((str(_word(change)) for change in value.changes if change.key == _FILESYSTEM), "")
        if name and wanted <= {each.id for each in filesystem(name).options}:
            return value
    return dimension.values[0]


def _configuration(layers: Sequence[Layer], name: str) -> Configuration | None:
    there = situation_of(layers)
    scope, merged = merge_layers([fitting_start(each, there) for each in layers], KeyPath())
    if merged is None:
        return None
    values = {key: given.value for key, given in merged.table.items() if given.value is not None}
    kind = next(each for each in TARGETS if each.kind == merged.kind.kind)
    if kind.kind == DiskTarget.kind and not {"disks", "filesystem"} <= values.keys():
        return None
    target = ScopedValue(kind.make(**values), KeyPath())
    return build_configuration(name, replace(scope, target=target))


def _is_option(change: Change) -> bool:
    return change.key[:3] == ("target", DiskTarget.kind, "options") and len(change.key) == 4


def _word(change: Change) -> object:
    """Return the value of a change as TOML has it."""
    return tomllib.loads(f"value = {change.text}")["value"]


def _single(change: Change) -> MatrixDimension:
    key = ".".join(change.key)
    word = _word(change)
    name = word if isinstance(word, str) else change.text
    return MatrixDimension(default_name(key), (DimensionValue(name, (change,)),), key)
