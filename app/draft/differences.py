"""In what the configurations of a draft differ, before anything is measured: as said of runs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.analysis.properties import KIND, LABELS, PATH, TARGET, Property, properties_of
from app.comparison.differences import compare_properties
from app.domain.campaign.configuration import Configuration
from app.domain.text import tr
from app.execution.run_description import describe_configuration

_PLACE: Final = {(TARGET, name) for name in (KIND, PATH, LABELS["size_bytes"])}
"""What the place of a configuration says by itself, beside which the differences stand."""


def configuration_differences(configurations: Mapping[int, Configuration]) -> Mapping[int, str]:
    """Return for each configuration its values of everything that is not the same in all of them.

    Empty where it is as all the others, apart from its place.
    """
    numbers = list(configurations)
    runs = [_beside_the_place(configurations[each]) for each in numbers]
    told: dict[int, list[str]] = {number: [] for number in numbers}
    for difference in compare_properties(runs).differences:
        for variant in difference.variants:
            words = tr("{name} {value}").format(name=difference.name, value=variant.value)
            for index in variant.runs:
                told[numbers[index]].append(words)
    return {number: ", ".join(words) for number, words in told.items()}


def _beside_the_place(configuration: Configuration) -> tuple[Property, ...]:
    found = properties_of(describe_configuration(configuration), None)
    return tuple(each for each in found if each.key not in _PLACE)
