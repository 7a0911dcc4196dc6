from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.metrics import METRICS
from app.probes.base.probe import Probe, ProbeContext, ProbeUnavailable, ServerSources
from app.probes.sampling.registry import PROBES, make_probes
from app.probes.sources.block_devices import ArraysProbe, BlockDevicesProbe, BtrfsProbe, ZfsProbe

PROJECT = Path(__file__).resolve().parents[3]


def test_ids_unique_and_cost_stated() -> None:
    assert len({probe.id for probe in PROBES}) == len(PROBES)
    assert all(probe.label for probe in PROBES)


def _made(source: ast.Module) -> Iterator[str]:
    """Yield the texts of a module; of those with places to fill what its other texts make of them."""
    nodes = [*ast.walk(source)]
    words = {each.value for each in nodes if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    yield from words
    parts = {part for word in words for part in word.split()}
    for each in nodes:
        if isinstance(each, ast.JoinedStr):
            told = [
                re.escape(str(part.value)) if isinstance(part, ast.Constant) else r"(\w+)"
                for part in each.values
            ]
            found = (re.fullmatch("".join(told), metric) for metric in METRICS)
            yield from (each.string for each in found if each and parts.issuperset(each.groups()))


def test_every_metric_has_a_probe() -> None:
    folders = [PROJECT / "app" / name for name in ("probes", "recording", "runfile", "importers")]
    paths = [path for folder in folders for path in folder.rglob("*.py")]
    made = {text for path in paths for text in _made(ast.parse(path.read_text(encoding="utf-8")))}
    assert [each for each in METRICS if each not in made] == []


def test_a_sampler_gets_probes_of_its_own() -> None:
    first, second = make_probes(), make_probes()
    assert [type(probe) for probe in first] == list(PROBES)
    assert all(one is not other for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize("kind", PROBES, ids=lambda kind: kind.id)
def test_probe_yields_metrics_or_reason(kind: type[Probe], tmp_path: Path) -> None:
    probe = kind()
    try:
        probe.open(ProbeContext(ServerSources(data_directory=str(tmp_path))))
        samples = [sample for _ in range(3) for sample in probe.read()]
    except ProbeUnavailable as err:
        assert err.reason  # noqa: PT017 - both are right, depending on the machine
    else:
        assert {sample.metric for sample in samples} <= METRICS.keys()
        assert all(sample.value >= 0 for sample in samples)
    finally:
        probe.close()
        probe.close()


@pytest.mark.parametrize("kind", [ArraysProbe, BlockDevicesProbe, BtrfsProbe, ZfsProbe])
def test_probe_without_folders(kind: type[Probe]) -> None:
    with pytest.raises(ProbeUnavailable, match="^started elsewhere$"):
        kind().open(ProbeContext(ServerSources(reason="started elsewhere")))
