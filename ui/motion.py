"""Whether something on the screen may glide: as the user prefers, else as the desktop says."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QStyle, QWidget

_PREFERRED: Final = "reducedMotion"
"""Dynamic property of the application; None, as where it was never set, for what the desktop says."""
STEP_MS: Final = 500
"""Between two pictures of what moves elsewhere, where motion is reduced: it goes on in steps."""
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
    """Let nothing of the program glide, or all of it, or what the desktop wants with None."""
    effects = _effects_of_the_desktop()
    for effect in _EFFECTS:
        QApplication.setEffectEnabled(effect, effect in effects and not reduced)
    app = QApplication.instance()
    if app is not None:
        app.setProperty(_PREFERRED, reduced)


def is_motion_reduced(widget: QWidget) -> bool:
    """Return whether what moves in a widget shall do so in steps."""
    app = QApplication.instance()
    preferred = None if app is None else app.property(_PREFERRED)
    if preferred is not None:
        return bool(preferred)
    return not widget.style().styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration, None, widget)
