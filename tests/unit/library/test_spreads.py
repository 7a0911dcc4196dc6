"""The spread of repeats in a library: within configurations, by kind of target, where there are enough."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.library.entries import LibraryEntry
from app.library.scan import LibraryIndex, LibraryScan, index_path
from app.library.spreads import read_spreads, spreads_of
from tests.fix_window import write_campaign


def entries(
    of_runs: list[float], configuration: str = "a", folder: str = "one", **more: object
) -> list[LibraryEntry]:
    first = LibraryEntry(
        None, "", None, "done", target="folder", configuration=configuration, keys=("clients=4",)
    )
    made = [
        replace(first, path=f"/library/{folder}/{number}.footing", tps=each)
        for number, each in enumerate(of_runs)
    ]
    return [replace(each, **more) for each in made]  # type: ignore[arg-type]


def test_repeats_are_pooled_within_their_configurations() -> None:
    random = np.random.default_rng(3)
    found = [
        each
        for number, level in enumerate((500, 1000, 40_000))
        for each in entries(
            [float(level * x) for x in np.exp(0.03 * random.standard_normal(80))], f"c{number}"
        )
    ]
    known = spreads_of(found)["folder"]
    assert known.spread == pytest.approx(0.03, rel=0.15)
    assert (known.configurations, known.runs) == (3, 240)


def test_same_configuration_other_campaign_separate() -> None:
    tps = [1000.0, 1010, 990, 1000]
    known = spreads_of(entries(tps) + entries([10 * each for each in tps], folder="two"))["folder"]
    assert known.spread == pytest.approx(float(np.std(np.log(tps), ddof=1)))


@pytest.mark.parametrize(
    "more",
    [
        {"state": "stopped"},
        {"tps": None},
        {"tps": 0.0},
        {"target": None},
        {"configuration": None},
        {"keys": ("rate=300",)},
    ],
)
def test_what_is_no_repeat_tells_nothing(more: dict[str, object]) -> None:
    tps = [1000.0, 1010, 990, 1000, 1005, 995, 1001]
    assert spreads_of(entries(tps)).keys() == {"folder"}
    assert spreads_of(entries(tps, **more)) == {}  # type: ignore[arg-type]


def test_a_few_repeats_are_not_enough() -> None:
    assert spreads_of(entries([1000.0, 1010, 990, 1000, 1005, 995])) == {}


def test_kinds_of_target_are_kept_apart() -> None:
    tps = [math.exp(0.01 * each) for each in range(9)]
    found = spreads_of(entries(tps) + entries([each**3 for each in tps], target="memory"))
    assert found["memory"].spread == pytest.approx(3 * found["folder"].spread)


def test_the_index_of_a_library_tells_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    library = tmp_path / "library"
    assert read_spreads(None) == {}
    assert read_spreads(library) == {}
    write_campaign(library, repeats=5)
    list(LibraryScan(library, index=LibraryIndex(index_path(library))).read())
    known = read_spreads(library)["folder"]
    assert (known.configurations, known.runs) == (2, 10)
    assert 0 < known.spread < 0.01
