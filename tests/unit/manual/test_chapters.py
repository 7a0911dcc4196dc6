"""The manual says what the declarations say: every key, mark, option and word has its place in it."""

from __future__ import annotations

import re
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from app import TOP
from app.analysis.data_set import MOST_CACHED
from app.analysis.glossary import GLOSSARY
from app.analysis.labels import MARK_WORDS, mark_words
from app.arguments.declared import build_parser, filled_text
from app.campaign_file.dimensions import DIMENSION_KEYS
from app.campaign_file.reader import read_campaign_file
from app.campaign_file.recipes.head import list_recipes
from app.comparison.offered_load import AGAIN_SHARE
from app.domain.campaign.configuration import default_repeats
from app.domain.campaign.matrix import RunOrder
from app.domain.disturbances import describe_thresholds
from app.domain.errors import UsageError
from app.domain.filesystems import FILESYSTEMS
from app.domain.metrics import METRICS
from app.domain.options.option_spec import Safety, words_of
from app.domain.options.raid import LAYOUTS
from app.domain.text import tr
from app.hosts.folders.own_folders import create_state_folder, default_folder, templates_folder
from app.hosts.machine_lock import SHARED_LOCK
from app.library.entries import standard_library
from app.library.trusted_campaigns import trusted_folder
from app.manual import chapters
from app.manual.chapters import CHAPTERS, COMMANDS, FILLED, MANUAL, TABLES, chapter_title, find_chapter
from app.manual.markdown import anchor_of
from app.preferences import preferences_path
from app.process.starter import current_account
from app.runfile.figures import FIGURES
from app.runfile.writer import SCHEMAS, schema_script
from tests.manual_blocks import blocks

MARKS = {"strong_open", "strong_close", "link_open", "link_close"}
WAYS_OUT = {
    "apt install --no-install-recommends ./dist/*.deb": "apt purge pgfooting pgfooting-helper",
    "packaging/run --install-command": "packaging/run --uninstall-command",
    "packaging/helper install": "packaging/helper uninstall",
    "pipx install": "pipx uninstall pgfooting",
    "pip install": "pip uninstall pgfooting",
}
"""Commands of README and chapter “installing” that install, and what removes what they made."""

README = (TOP / "README.md").read_text(encoding="utf-8")
EXAMPLE_RUN = next((TOP / "resources/examples/folder-against-memory").glob("*.footing"))


def headings(name: str, tag: str) -> list[str]:
    return [each.text[0] for each in blocks(name) if each.tag == tag]


def rows(name: str) -> list[tuple[str, ...]]:
    """Return the cells of all tables of a chapter, as they are read."""
    return [each.text for each in blocks(name) if each.tag == "tr"]


def codes(name: str) -> list[str]:
    return [each.text[0] for each in blocks(name) if each.tag == "code"]


def under(name: str, heading: str) -> list[str]:
    """Return the texts below a heading of a chapter, up to the next one."""
    lines: list[str] = []
    here = False
    for each in blocks(name):
        if each.tag in {"h1", "h2", "h3"}:
            here = each.text == (heading,)
        elif here and each.tag in {"p", "li"}:
            lines += each.text
    return lines


def flowing(name: str) -> str:
    return " ".join(filled_text(find_chapter(name)).split())


def test_files_are_valid_chapters() -> None:
    """The manual pages are made of these elements alone (packaging/manual_page.py)."""
    assert {path.stem for path in MANUAL.iterdir()} == {each.id for each in CHAPTERS}
    for chapter in CHAPTERS:
        first, *rest = blocks(chapter)
        assert (first.tag, first.text) == ("h1", (chapter_title(chapter),))
        assert {each.tag for each in rest} <= {"h2", "h3", "p", "li", "th", "tr", "code"}
        inline = {child.type for each in rest for child in each.children}
        assert inline <= {"text", "code_inline", "softbreak", *MARKS}, chapter.id
        assert all("`" not in "".join(each.text) for each in rest if each.tag != "code"), chapter.id


def test_other_languages_say_english(monkeypatch: pytest.MonkeyPatch) -> None:
    chapter = CHAPTERS[0]
    note = "This chapter is in English."
    assert note not in filled_text(chapter)
    monkeypatch.setattr(chapters, "LANGUAGE", "de")
    title, between, remark, *_ = chapters.chapter_text(chapter, str).split("\n")
    assert (title, between) == (f"# {chapters.chapter_title(chapter)}", "")
    assert note in remark


def test_tables_used_and_filled() -> None:
    sources = "\n".join(each.path.read_text(encoding="utf-8") for each in CHAPTERS)
    assert set(re.findall(r"^\{\{.*\}\}$", sources, re.MULTILINE)) == {*FILLED, COMMANDS}
    assert not any("{{" in filled_text(each) for each in CHAPTERS)


def test_every_link_leads_to_a_heading() -> None:
    anchors = {
        f"{chapter.id}.md": {anchor_of(each.text[0]) for each in blocks(chapter) if each.tag[0] == "h"}
        for chapter in CHAPTERS
    }
    links = [
        str(child.attrs["href"])
        for chapter in CHAPTERS
        for each in blocks(chapter)
        for child in each.children
        if child.type == "link_open"
    ]
    assert len(links) > 15
    for link in links:
        file, _, anchor = link.partition("#")
        assert file in anchors, link
        assert not anchor or anchor in anchors[file], link


def test_campaign_keys_explained_with_allowed_values() -> None:
    for table, fields in TABLES.items():
        sentence = under("campaign", table or tr("At the top, before any [table]"))
        assert len(sentence) == len(fields)
        for line, field in zip(sentence, fields, strict=True):
            assert line.startswith(f"{field.name}: {field.sentence}"), field.name
            assert " ".join(field.kind.allowed.split()) in line
    assert [line.partition(":")[0] for line in under("campaign", "[[dimension]]")] == list(DIMENSION_KEYS)


def test_example_comments_in_manual() -> None:
    keys = under("campaign", tr("At the top, before any [table]"))
    (design,) = (each for each in keys if each.startswith("design:"))
    assert 'no rate. "fixed" is the default.' in design, "a sentence of two lines has its remarks, too"


def test_marks_listed_under_shown_words() -> None:
    assert sorted(headings("marks", "h3")) == sorted(map(mark_words, MARK_WORDS))
    for kind in MARK_WORDS:
        first = under("marks", mark_words(kind))[0]
        assert first.startswith(f"{kind}. "), kind


def test_filesystem_options_and_effects_in_tables() -> None:
    names = [name for name in headings("options", "h2") if name in {spec.id for spec in FILESYSTEMS}]
    assert names == [spec.id for spec in FILESYSTEMS]
    found = rows("options")
    for spec in FILESYSTEMS:
        for option in spec.options:
            effects = [row[3] for row in found if row[0] == option.id]
            assert any(effect.startswith(" ".join(option.effect.split())) for effect in effects), option.id
        for preset in spec.presets:
            assert any(line.startswith(f"{tr('Preset')} {preset.id}") for line in under("options", spec.id))
    assert {(each.label, each.sentence) for each in Safety} <= set(found)


def test_filesystems_and_levels_in_tables() -> None:
    found = rows("filesystems")
    assert [row[:2] for row in found[: len(FILESYSTEMS)]] == [
        (each.id, each.good_for) for each in FILESYSTEMS
    ]
    assert [row[3] for row in found[len(FILESYSTEMS) :]] == [
        " ".join(words_of(each).split()) for each in LAYOUTS
    ]


def test_glossary_words_have_headings() -> None:
    assert headings("words", "h3") == [each.word for each in GLOSSARY]
    for each in GLOSSARY:
        assert under("words", each.word) == [each.meaning]


def test_figures_and_metrics_in_run_file_chapter() -> None:
    names = [row[0] for row in rows("run")]
    assert names == [*(each.name for each in FIGURES), *METRICS]


def test_every_recipe_and_threshold_is_told() -> None:
    assert [row[0] for row in rows("first-hour")] == [each.name for each in list_recipes()]
    assert all(clause in flowing("method") for clause in describe_thresholds().split("; "))


def test_schema_matches_created_file() -> None:
    assert codes("run")[-1] == schema_script(max(SCHEMAS)).strip()


QUERIES = [each for each in codes("run") if each.startswith("SELECT")]
MAY_BE_EMPTY = ("FROM mark",)


@pytest.mark.parametrize("query", QUERIES)
def test_manual_queries_answer_on_run_file(query: str) -> None:
    with closing(sqlite3.connect(f"{EXAMPLE_RUN.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        found = connection.execute(query).fetchall()
    assert found or any(each in query for each in MAY_BE_EMPTY)


def test_promised_numbers_match_declarations() -> None:
    assert f"`repeats` is {default_repeats(2)}, or {default_repeats(3)} from three" in flowing("method")
    assert f'above {100 * MOST_CACHED:g} % the run is marked "{mark_words("still-cached")}"' in flowing(
        "method"
    )
    assert f'AB BA is a choice (`order = "{RunOrder.ALTERNATING}"`)' in flowing("method")
    assert f"a campaign of the same at {100 * AGAIN_SHARE:g} % of the slowest" in flowing("verdicts")


def test_removal_folders_are_those_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DATA", "CACHE", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setattr("os.geteuid", lambda: 1000)  # the folders of a user also where root tests
    monkeypatch.setattr("app.hosts.folders.own_folders.check_private", lambda _path: None)
    state = create_state_folder()
    usual = {"DATA": ".local/share", "CACHE": ".cache", "STATE": ".local/state", "CONFIG": ".config"}
    account = current_account()
    used = [
        *map(Path, (default_folder(account), templates_folder(account))),
        *(state, standard_library(), trusted_folder(), preferences_path()),
    ]
    named = [Path(row[0]) for row in rows("removing")]
    for path in used:
        base, *rest = path.relative_to(tmp_path).parts
        folder = Path("~", usual[base], *rest)
        assert any(folder == each or each in folder.parents for each in named), folder
    assert f"`{SHARED_LOCK}`" in flowing("removing")


def test_readme_installs_have_removals() -> None:
    readme = README + flowing("installing")
    for way_in, way_out in WAYS_OUT.items():
        assert way_in in readme, way_in
        assert any(way_out in each for each in under("removing", "The program")), way_out
    for program, word in (("run", "--uninstall-command"), ("helper", "uninstall")):
        assert re.search(rf"^ +{word}(:1)?\)", (TOP / "packaging" / program).read_text(), re.MULTILINE), word


def test_readme_length_and_links() -> None:
    assert len(README.splitlines()) <= 150
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert len(links) > 15
    assert [link for link in links if not (TOP / link).exists()] == []


def test_readme_campaign_is_read(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    path = tmp_path / "campaign.toml"
    path.write_text(text)
    assert [each.name for each in read_campaign_file(path).campaign.configurations] == ["folder", "memory"]


def test_written_commands_have_their_options() -> None:
    texts = [README, *(each.path.read_text(encoding="utf-8") for each in CHAPTERS)]
    typed = re.findall(
        r"(?:^|`|\$ )(?:pgfooting|packaging/run) ([a-z][^`#\n]*)", "\n".join(texts), re.MULTILINE
    )
    commands = build_parser().commands
    assert len(typed) > 30
    for name, *words in map(shlex.split, typed):
        known = {option for action in commands[name]._actions for option in action.option_strings}
        assert {word for word in words if word.startswith("-")} <= known | {"-", "--"}, words


def test_unknown_chapter_suggests_nearest() -> None:
    with pytest.raises(UsageError) as refused:
        find_chapter("mark")
    assert "marks" in refused.value.hint
