"""OpenType features of fonts, with every PySide6 from 6.8.0 on.

``QFont.Tag`` cannot be created from a text before PySide6 6.8.3: the constructor raises TypeError, and there
is no other. Debian 13 ships 6.8.2.1. There a font gets its feature through its stream, whose format Qt keeps
for each ``QDataStream.Version``: since 6.7 it ends with the features (a number of pairs, the pairs) and the
axes of a variable font (a number of pairs), see operator<< in Qt's qfont.cpp.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from PySide6.QtCore import QByteArray, QDataStream, QIODevice
from PySide6.QtGui import QFont

HAS_TAGS: Final = hasattr(QFont.Tag, "fromString")
"""Whether this version can create a tag from a text."""

_NOTHING: Final = struct.pack(">II", 0, 0)


def set_features(font: QFont, features: Mapping[str, int]) -> None:
    """Set OpenType features of a font without any: by four letters of the registry, 0 is off.

    Raises:
        ValueError: a tag is not four letters, or another feature is set and tags cannot be created here.
    """
    for tag in features:
        if len(tag.encode("ascii")) != 4:
            raise ValueError(tag)
    if HAS_TAGS:
        for tag, value in features.items():
            font.setFeature(QFont.Tag(tag), value)
    else:
        set_features_by_stream(font, features)


def set_features_by_stream(font: QFont, features: Mapping[str, int]) -> None:
    """Do the same without a tag.

    Raises:
        ValueError: another feature, or an axis of a variable font, is set.
    """
    written = QByteArray()
    out = QDataStream(written, QIODevice.OpenModeFlag.WriteOnly)
    out.setVersion(QDataStream.Version.Qt_6_8.value)
    _ = out << font
    told = bytes(written.data())
    if font.featureTags() or not told.endswith(_NOTHING):
        raise ValueError(", ".join(features))
    pairs = (struct.pack(">4sI", tag.encode("ascii"), value) for tag, value in sorted(features.items()))
    changed = b"".join(
        (told.removesuffix(_NOTHING), struct.pack(">I", len(features)), *pairs, struct.pack(">I", 0))
    )
    back = QDataStream(QByteArray(changed))
    back.setVersion(QDataStream.Version.Qt_6_8.value)
    _ = back >> font
