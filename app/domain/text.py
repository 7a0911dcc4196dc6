"""The one function through which every sentence for people goes (gettext)."""

from __future__ import annotations

import gettext

from app import TOP

_TRANSLATIONS = TOP / "resources" / "translations"

_catalogue = gettext.translation("pgfooting", localedir=_TRANSLATIONS, fallback=True)


def tr(message: str) -> str:
    """Return `message` in the user's language (LANGUAGE, LC_MESSAGES, LANG), else as it is.

    Sentences with values are translated first and formatted afterwards:
    ``tr("{count} runs").format(count=3)``.
    """
    return _catalogue.gettext(message)
