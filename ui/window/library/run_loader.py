"""Load the data of the chosen runs for charts and facts panel, in the background, and cache it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.domain.errors import FootingError
from app.library.scan import ListedRun
from ui.background import BackgroundOp

if TYPE_CHECKING:
    from app.analysis.facts import RunFacts
    from app.runfile.series import RunData


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """A run with all displayed data, or the reason why it cannot be shown."""

    listed: ListedRun
    data: RunData | None
    facts: RunFacts | None
    problem: str = ""


def load_run(listed: ListedRun, charts: Iterable[str], shown: int) -> LoadedRun:
    """Read a run file for these charts and the facts; never raises for a bad or missing file.

    Args:
        listed: the run.
        charts: ids of its charts.
        shown: number of configurations in them.
    """
    from app.analysis.facts import kept_run_facts  # noqa: PLC0415 - the window is on the screen before
    from app.runfile.series import kept_run_data  # noqa: PLC0415
    from ui.charts.data.curves import needed  # noqa: PLC0415
    from ui.charts.data.registry import CHARTS  # noqa: PLC0415

    path = Path(listed.entry.path)
    try:
        series = needed((CHARTS[chart] for chart in charts if chart in CHARTS), shown)
        return LoadedRun(listed, kept_run_data(path).load(*series), kept_run_facts(path))
    except FootingError as error:
        return LoadedRun(listed, None, None, error.message)


class RunLoader(QObject):
    """Delivers loaded runs; only the newest request is answered.

    Signals:
        loaded: path and `LoadedRun` of every requested run.
    """

    loaded = Signal(dict)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._kept: dict[str, LoadedRun] = {}
        self._op: BackgroundOp[list[LoadedRun]] | None = None

    def load(self, wanted: Mapping[str, ListedRun], charts: tuple[str, ...], shown: int) -> None:
        """Load these runs with this number of configurations; unchanged ones are not read again."""
        if self._op is not None:
            self._op.cancel()
        self._kept = {path: run for path, run in self._kept.items() if wanted.get(path) == run.listed}
        missing = [listed for path, listed in wanted.items() if path not in self._kept]
        if not missing:
            self.loaded.emit(dict(self._kept))
            return
        self._op = BackgroundOp(
            lambda: [load_run(listed, charts, shown) for listed in missing],
            self._take,
            lambda error: self._fail(missing, error),
        )
        self._op.start()

    def stop(self) -> None:
        """Stop delivering."""
        if self._op is not None:
            self._op.cancel()

    def _take(self, runs: list[LoadedRun]) -> None:
        self._kept |= {run.listed.entry.path: run for run in runs}
        self.loaded.emit(dict(self._kept))

    def _fail(self, missing: list[ListedRun], error: FootingError) -> None:
        self._take([LoadedRun(listed, None, None, error.message) for listed in missing])
