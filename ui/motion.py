"""Reduced motion: by the user's preference, else the desktop's."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QStyle, QWidget

_PREFERRED: Final = "reducedMotion"
"""Dynamic property of the application; None, also when never set, for the desktop's setting."""
STEP_MS: Final = 500
"""Interval between two pictures of an animation with reduced motion, which moves in steps."""
_EFFECTS: Final = (
    Qt.UIEffect.UI_AnimateMenu,
    Qt.UIEffect.UI_FadeMenu,
    Qt.UIEffect.UI_AnimateCombo,
    Qt.UIEffect.UI_AnimateTooltip,
    Qt.UIEffect.UI_FadeTooltip,
    Qt.UIEffect.UI_AnimateToolBox,
)


@lru_cache(maxsize=1)
def _effects_of_the_desktop() -> tuple[Qt.UIEffect, ...]:
    return tuple(effect for effect in _EFFECTS if QApplication.isEffectEnabled(effect))


def set_reduced_motion(reduced: bool | None) -> None:  # noqa: FBT001 - a setter
    """Disable all animations of the program, enable them, or follow the desktop with None."""
    effects = _effects_of_the_desktop()
    for effect in _EFFECTS:
        QApplication.setEffectEnabled(effect, effect in effects and not reduced)
    app = QApplication.instance()
    if app is not None:
        app.setProperty(_PREFERRED, reduced)


def is_motion_reduced(widget: QWidget) -> bool:
    """Return whether animations of a widget are to move in steps."""
    app = QApplication.instance()
    preferred = None if app is None else app.property(_PREFERRED)
    if preferred is not None:
        return bool(preferred)
    return not widget.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration, None, widget)
