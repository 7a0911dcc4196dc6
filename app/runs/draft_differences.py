"""In what the configurations of a draft differ, before anything is measured: as said of runs. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.configuration import Configuration
from app.domain.text import tr
from app.runs.differences import compare_properties
from app.runs.run_identity import describe_configuration
from app.runs.run_properties import properties_of


def configuration_differences(configurations: Mapping[int, Configuration]) -> Mapping[int, str]:
    """Return for each configuration its values of everything that is not the same in all of them.

    Empty where it is as all the others.
    """
    numbers = list(configurations)
    runs = [tuple(properties_of(describe_configuration(configurations[each]), None)) for each in numbers]
    told: dict[int, list[str]] = {number: [] for number in numbers}
    for difference in compare_properties(runs).differences:
        for variant in difference.variants:
            words = tr("{name} {value}").format(name=difference.name, value=variant.value)
            for index in variant.runs:
                told[numbers[index]].append(words)
    return {number: ", ".join(words) for number, words in told.items()}
