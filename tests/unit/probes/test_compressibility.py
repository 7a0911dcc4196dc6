"""How far files can be compressed: pieces of them through libzstd."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.text import KIB, MIB
from app.probes.base.probe import ProbeUnavailable
from app.probes.facts import files
from app.probes.facts.files import PIECE_BYTES, sample_compression


@pytest.fixture(autouse=True)
def _reset() -> Iterator[None]:
    files._load.cache_clear()
    yield
    files._load.cache_clear()


def mixed(pieces: int, random_bytes: int) -> bytes:
    """Return rows of 128 bytes of which so many are random."""
    row = 128
    count = pieces * PIECE_BYTES // row
    return b"".join(os.urandom(random_bytes) + bytes(row - random_bytes) for _ in range(count))


def test_ratio_matches_zstd(tmp_path: Path) -> None:
    program = shutil.which("zstd")
    if program is None:
        pytest.skip("the program zstd is not installed")
    path = tmp_path / "a"
    path.write_bytes(mixed(1, 50))
    printed = subprocess.run(
        [program, "-3", "--no-check", "--stdout", str(path)], capture_output=True, check=True
    )
    found = sample_compression([path])
    assert found.sampled_bytes == PIECE_BYTES
    assert found.compressed_bytes == pytest.approx(len(printed.stdout), rel=0.001)
    assert found.zstd_version.count(".") == 2


def test_files_sampled_evenly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []

    def take(_: object, piece: bytes) -> int:
        taken.append(piece[0])
        return 1

    monkeypatch.setattr(files, "_compressed_size", take)
    sizes = {1: 3, 2: 100, 3: 0, 4: 297}
    for name, pieces in sizes.items():
        (tmp_path / str(name)).write_bytes(bytes([name]) * (pieces * PIECE_BYTES + 5))
    found = sample_compression([tmp_path / str(name) for name in sizes])
    assert len(taken) == found.compressed_bytes == 64
    assert found.sampled_bytes == 64 * PIECE_BYTES
    assert [taken.count(name) for name in sizes] == [1, 16, 0, 47]


def test_random_bytes_and_zeros(tmp_path: Path) -> None:
    (tmp_path / "random").write_bytes(os.urandom(MIB))
    (tmp_path / "zeros").write_bytes(bytes(MIB))
    random, zeros = (sample_compression([tmp_path / name]) for name in ("random", "zeros"))
    assert random.compressed_bytes >= random.sampled_bytes == MIB
    assert zeros.compressed_bytes < MIB / 1000


def test_less_than_a_piece_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(127 * KIB))
    for paths in ([tmp_path / "a"], []):
        with pytest.raises(ProbeUnavailable, match="too small"):
            sample_compression(paths)


def test_a_machine_without_the_library_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(bytes(MIB))
    monkeypatch.setattr(files, "_LIBRARY", "libno-such-library.so.1")
    with pytest.raises(ProbeUnavailable, match="libno-such-library.so.1 is not installed"):
        sample_compression([tmp_path / "a"])
    monkeypatch.setattr(files, "_LIBRARY", "libc.so.6")  # a library that is another one
    with pytest.raises(ProbeUnavailable, match="libc.so.6 is not installed"):
        sample_compression([tmp_path / "a"])


def test_what_the_library_refuses_is_no_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(bytes(MIB))
    zstd = files._load()
    monkeypatch.setattr(zstd, "ZSTD_compressBound", lambda _: 1)
    with pytest.raises(ProbeUnavailable, match="could not compress"):
        sample_compression([tmp_path / "a"])


def test_links_and_special_files_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(MIB))
    (tmp_path / "link").symlink_to(tmp_path / "a")
    os.mkfifo(tmp_path / "fifo")
    for name in ("link", "fifo", "missing"):
        with pytest.raises(OSError):  # noqa: PT011 - each of another kind
            sample_compression([tmp_path / name])
