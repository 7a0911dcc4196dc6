from __future__ import annotations

import pytest

from app.domain.metrics import METRICS, Metric
from tests.cases import each_case


def test_metric_ids_are_keys() -> None:
    assert all(metric.id == key for key, metric in METRICS.items())


@each_case("metric", METRICS.values())
def test_metric_label_unit_and_source(metric: Metric) -> None:
    topic, _, name = metric.id.partition(".")
    assert topic
    assert name
    assert metric.label
    assert metric.unit
    assert metric.source


def test_pgbench_metrics_of_live_page() -> None:
    names = "tps latency_mean latency_stddev failed lag skipped retried"
    assert {f"pgbench.{name}" for name in names.split()} <= METRICS.keys()


def test_the_registry_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        METRICS["x"] = next(iter(METRICS.values()))  # type: ignore[index]
