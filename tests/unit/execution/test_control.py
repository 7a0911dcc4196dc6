from __future__ import annotations

import socket
import stat
import threading
from pathlib import Path

import pytest

from app.domain.errors import BusyError, UsageError
from app.execution.control import SOCKET_NAME, ControlServer, Request, _address, send_request


def ask(folder: Path, *requests: Request) -> list[threading.Thread]:
    threads = [threading.Thread(target=send_request, args=(folder, request)) for request in requests]
    for thread in threads:
        thread.start()
    return threads


def serve_until_answered(server: ControlServer, threads: list[threading.Thread]) -> list[Request]:
    heard: list[Request] = []
    while any(thread.is_alive() for thread in threads):
        request = server.poll()
        if request:
            heard.append(request)
    return heard


def test_strongest_request_wins_in_long_folder(tmp_path: Path) -> None:
    folder = tmp_path / ("n" * 200)
    folder.mkdir()
    server = ControlServer(folder)
    threads = ask(folder, Request.FINISH, Request.DISCARD, Request.STOP)
    heard = serve_until_answered(server, threads)
    assert max(heard, key=list(Request).index) is Request.DISCARD
    server.close()
    assert not (folder / SOCKET_NAME).exists()


def test_socket_private_to_user(tmp_path: Path) -> None:
    server = ControlServer(tmp_path)
    assert stat.S_IMODE((tmp_path / SOCKET_NAME).stat().st_mode) == 0o600
    server.close()


def test_nobody_asking_answers_at_once(tmp_path: Path) -> None:
    server = ControlServer(tmp_path)
    assert server.poll() is None
    server.close()


def test_garbage_and_silent_peer_ignored(tmp_path: Path) -> None:
    server = ControlServer(tmp_path)
    for text in (b"\xff\xfe\n", b"[]\n", b'{"request": "format"}\n', b""):
        with _address(tmp_path) as address, socket.socket(socket.AF_UNIX) as peer:
            peer.connect(address)
            if text:
                peer.sendall(text)
            assert server.poll() is None
            if text:
                assert b"unknown request" in peer.recv(1000)
    server.close()


def test_folder_without_runner(tmp_path: Path) -> None:
    with pytest.raises(BusyError, match="No runner answers"):
        send_request(tmp_path, Request.STOP)


def test_a_refusal_reaches_the_asker(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        with _address(tmp_path) as address:
            listener.bind(address)
        listener.listen()

        def refuse() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.recv(100)
                peer.sendall(b'{"error": "no"}\n')

        thread = threading.Thread(target=refuse)
        thread.start()
        with pytest.raises(UsageError, match="refused"):
            send_request(tmp_path, Request.FINISH)
        thread.join()


def test_vanished_folder_does_not_disturb_end(tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    folder.mkdir()
    server = ControlServer(folder)
    (folder / SOCKET_NAME).unlink()
    folder.rmdir()
    server.close()


def test_filesystem_without_sockets_raises_os_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        ControlServer(tmp_path / "missing")
