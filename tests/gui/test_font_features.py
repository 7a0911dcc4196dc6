"""Features of fonts are set with and without tags, which old PySide6 cannot make."""

from collections.abc import Callable, Mapping

import pytest
from PySide6.QtGui import QFont, QFontMetricsF

from ui.font_features import set_features, set_features_by_stream


def a_font() -> QFont:
    font = QFont("DejaVu Sans")
    font.setPointSizeF(11.5)
    font.setBold(True)
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    return font


@pytest.mark.parametrize("switch", [set_features, set_features_by_stream])
@pytest.mark.parametrize("wanted", [{"liga": 0}, {"tnum": 1}, {"liga": 0, "calt": 0, "tnum": 1}])
@pytest.mark.usefixtures("qapp")
def test_features_change_nothing_else(
    switch: Callable[[QFont, Mapping[str, int]], None], wanted: dict[str, int]
) -> None:
    font = a_font()
    switch(font, wanted)
    found = font.featureTags()
    assert {bytes(tag.toString().data()).decode(): font.featureValue(tag) for tag in found} == wanted
    for tag in found:
        font.unsetFeature(tag)
    assert font == a_font()


@pytest.mark.usefixtures("qapp")
def test_without_ligatures_letters_keep_width() -> None:
    font = a_font()
    set_features(font, {"liga": 0})
    font.setKerning(False)
    measured = QFontMetricsF(font)
    assert measured.horizontalAdvance("fi") == pytest.approx(
        measured.horizontalAdvance("f") + measured.horizontalAdvance("i")
    )


@pytest.mark.usefixtures("qapp")
def test_what_is_no_tag_is_refused() -> None:
    with pytest.raises(ValueError, match="ligature"):
        set_features(a_font(), {"ligature": 0})


@pytest.mark.usefixtures("qapp")
def test_second_feature_by_stream_refused() -> None:
    font = a_font()
    set_features(font, {"liga": 0})
    with pytest.raises(ValueError, match="tnum"):
        set_features_by_stream(font, {"tnum": 1})
