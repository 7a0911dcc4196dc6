"""As root, tests of the window and of drafts keep away from the folders of real campaigns.

They look at folders for whoever runs them, which gives the default folder to root; a campaign measured
beside them as the server's account would lose it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from app import TOP
from app.hosts.folders import own_folders as accounts

LOOKING = (TOP / "tests" / "gui", TOP / "tests" / "unit" / "draft")
"""Whose tests look at folders and, but for those with a real server, start no campaign there."""


@pytest.fixture(scope="session")
def root_folder_of_tests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("root-folder")


@pytest.fixture(autouse=True)
def keep_away_from_real_campaigns(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, root_folder_of_tests: Path
) -> None:
    looks = any(request.path.is_relative_to(each) for each in LOOKING)
    if looks and request.node.get_closest_marker("postgres") is None:
        monkeypatch.setattr(accounts, "ROOT_FOLDER", str(root_folder_of_tests))
