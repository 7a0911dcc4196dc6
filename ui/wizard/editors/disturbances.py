"""What would disturb the measurement, looked for while the review is read."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.domain.errors import FootingError
from app.domain.text import tr
from app.execution.preflight import PreflightFinding, Severity, find_disturbances
from app.execution.resolve import ResolvedCampaign
from ui.background import BackgroundOp
from ui.theme import SMALL, Theme
from ui.widgets.texts import Text


def sentences(findings: tuple[PreflightFinding, ...], severity: Severity) -> str:
    """Return the findings of one severity, a line each."""
    told = [f"{each.message} {each.hint}".strip() for each in findings if each.severity is severity]
    sign = "⚠ " if severity is Severity.WARNING else ""
    return "\n".join(f"{sign}{sentence}" for sentence in told)


class Disturbances(QWidget):
    """Warnings and notes of the preflight; nothing of it keeps from starting.

    Attributes:
        library: folder that will get the runs; None where it is not known.
        warnings: what makes results doubtful.
        notes: what should be known when reading them, and how the looking goes.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.library: Path | None = None
        self.warnings = Text(theme, role="warning")
        self.notes = Text(theme, role="muted")
        self._op: BackgroundOp[tuple[PreflightFinding, ...]] | None = None
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(SMALL)
        layout.addWidget(self.warnings)
        layout.addWidget(self.notes)
        self._tell("", "")

    def look(self, resolved: ResolvedCampaign) -> None:
        """Look at the machine now; takes about a second a configuration, in the background."""
        self.stop()
        self._tell("", tr("Looking …"))
        library = str(self.library) if self.library is not None and self.library.is_dir() else None
        self._op = BackgroundOp(lambda: find_disturbances(resolved, library), self._show, self._fail).start()

    def stop(self) -> None:
        """Want no answer any more."""
        if self._op is not None:
            self._op.cancel()
            self._op = None

    def _show(self, findings: tuple[PreflightFinding, ...]) -> None:
        self._op = None
        nothing = "" if findings else tr("Nothing was found that would disturb it.")
        self._tell(sentences(findings, Severity.WARNING), sentences(findings, Severity.NOTE) or nothing)

    def _fail(self, error: FootingError) -> None:
        self._op = None
        self._tell(error.message, "")

    def _tell(self, warnings: str, notes: str) -> None:
        for text, label in ((warnings, self.warnings), (notes, self.notes)):
            label.setText(text)
            label.setVisible(bool(text))
