"""Build the cells from the ticks of the page of dimensions, using the reader of campaign files.

::

    chosen configurations -> common start (and a dimension of their differences)     \
    ticked dimensions     -> tables as in a file                                      -> expand -> cells
    unticked combinations -> those that still exist                                  /
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.campaign_file.dimensions import Dimension, plain_dimension, read_dimensions
from app.campaign_file.kinds import Key
from app.campaign_file.matrix import ReadMatrix, every_cell, expand
from app.campaign_file.partial import (
    DISKS,
    SETTINGS,
    TARGET,
    Partial,
    alike,
    changes_of,
    given_keys,
    partial_of,
)
from app.campaign_file.problems import Problems
from app.campaign_file.reader import CampaignReader
from app.campaign_file.rules import Stated
from app.domain.campaign.configuration import Configuration, DiskTarget, Workload
from app.domain.campaign.matrix import DimensionValue, MatrixDimension, is_left_out
from app.domain.errors import Problem
from app.domain.text import tr
from app.draft.fields.state import DraftParts

FIELD = "dimension"
"""Path of problems of the page of dimensions."""


@dataclass(frozen=True, slots=True)
class DraftMatrix:
    """The result of reading the ticks.

    Attributes:
        read: None if something is wrong.
        problems: all that were found; paths begin with `FIELD` and the number of a dimension, from 1.
    """

    read: ReadMatrix | None
    problems: tuple[Problem, ...]


def read_draft_matrix(
    parts: DraftParts, configurations: Sequence[Configuration], top: Partial
) -> DraftMatrix:
    """Return the matrix of a draft.

    Args:
        parts: the draft; with at least one dimension.
        configurations: the chosen ones, at least one; all valid.
        top: of the campaign as a whole.
    """
    empty = tuple(
        Problem(
            f"{FIELD}[{number}]",
            tr("“{name}” has no value: tick or type at least one, or remove it.").format(name=each.name),
        )
        for number, each in enumerate(parts.dimensions, start=1)
        if not each.values
    )
    if empty:
        return DraftMatrix(None, empty)
    problems = Problems()
    reader = CampaignReader(Path("/"), problems)
    base, of_list = shared_of(configurations, {each.name for each in parts.dimensions})
    dimensions = (*of_list, *parts.dimensions)
    read = read_dimensions(reader, [plain_dimension(each) for each in dimensions])
    if read is None:
        return DraftMatrix(None, _page_problems(problems, dimensions, len(of_list)))
    base = _without_decided(_without_warmup(base, read), read)
    matrix = expand(reader, base, read, _still_there(parts, base, read), top["name",].value or "")
    if matrix is not None:
        reader.check_configurations(top, Stated(), matrix.configurations)
    return DraftMatrix(matrix, _page_problems(problems, dimensions, len(of_list)))


def shared_of(
    configurations: Sequence[Configuration], taken: set[str]
) -> tuple[Partial, tuple[MatrixDimension, ...]]:
    """Return the common start of all configurations, and a dimension of their differences, if any.

    Args:
        configurations: the chosen ones.
        taken: names already in use.
    """
    partials = [partial_of(made) for made in configurations]
    if len(configurations) == 1:
        return partials[0], ()
    changes = [{each.key: each for each in changes_of(partial)} for partial in partials]
    kinds = [made.target.kind for made in configurations]
    kind = DiskTarget.kind if DiskTarget.kind in kinds else kinds[0]
    of_kind = [found for found, other in zip(changes, kinds, strict=True) if other == kind]
    shared = alike(changes) | {key: each for key, each in alike(of_kind).items() if key[0] == TARGET}
    values = tuple(
        DimensionValue(made.name, tuple(each for each in found.values() if shared.get(each.key) != each))
        for made, found in zip(configurations, changes, strict=True)
    )
    everything = {key: given for partial in partials for key, given in partial.items()}
    name = tr("configuration")
    while name in taken:
        name += " *"
    return {key: everything[key] for key in shared}, (MatrixDimension(name, values),)


def _without_warmup(base: Partial, dimensions: Sequence[Dimension]) -> Partial:
    """Return the common start without the default warm-up if caches are a dimension: cold ones have none."""
    warmup = base.get(("workload", "warmup"))
    about_caches = any(("workload", "caches") in partial for each in dimensions for partial in each.partials)
    if warmup is None or warmup.value != Workload().warmup_s or not about_caches:
        return base
    return {key: given for key, given in base.items() if given is not warmup}


def _without_decided(base: Partial, dimensions: Sequence[Dimension]) -> Partial:
    """Return the common start without keys of disks and settings that every value of a dimension sets."""
    said = (frozenset.intersection(*map(given_keys, each.partials)) for each in dimensions)
    decided = frozenset[Key]().union(*said)
    return {
        key: given
        for key, given in base.items()
        if key not in decided or (key[:2] != DISKS and key[:2] != SETTINGS)
    }


def _still_there(
    parts: DraftParts, base: Partial, dimensions: Sequence[Dimension]
) -> list[dict[str, list[str]]]:
    """Return the exclusions, without those that later changes made obsolete."""
    places = {each.declared.name: number for number, each in enumerate(dimensions)}
    values = [[value.name for value in each.declared.values] for each in dimensions]
    cells = every_cell(base, dimensions)
    found = []
    for each in parts.left_out:
        if not each or not each.keys() <= places.keys():
            continue
        kept = {name: [one for one in names if one in values[places[name]]] for name, names in each.items()}
        exclusion = tuple(
            (places[name], tuple(values[places[name]].index(one) for one in names))
            for name, names in kept.items()
        )
        if all(kept.values()) and any(is_left_out(cell, exclusion) for cell in cells):
            found.append(kept)
    return found


def _page_problems(
    problems: Problems, dimensions: Sequence[MatrixDimension], of_list: int
) -> tuple[Problem, ...]:
    """Return the reader's problems as sentences for the page, with dimensions by name."""
    found: dict[tuple[str, str], Problem] = {}
    for each in problems.found:
        head, _, rest = each.path.partition("]")
        word, _, number = head.partition("[")
        message = each.message
        path = FIELD
        if word == FIELD and number.isdigit():
            place = int(number) - 1
            path = f"{FIELD}[{place + 1 - of_list}]" if place >= of_list else FIELD
            value = _value_named(dimensions[place], rest)
            message = f"{dimensions[place].name}{value and f' {value}'}: {message}"
        elif message[:1].islower() and each.path not in {FIELD, "exclude"}:
            message = f"{each.path.rpartition('.')[2]}: {message}"
        if path == FIELD:  # else a name begins it, which stays unchanged
            message = message[:1].upper() + message[1:]
        found.setdefault((path, message), Problem(path, message, each.hint))
    return tuple(found.values())


def _value_named(dimension: MatrixDimension, rest: str) -> str:
    """Return the name of the value at a path such as ``.values[3]``; empty for none."""
    number = rest.partition("[")[2].partition("]")[0]
    place = int(number) - 1 if number.isdigit() else -1
    return dimension.values[place].name if 0 <= place < len(dimension.values) else ""
