from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.errors import ProgramError
from app.probes.base.probe import ask_program
from app.probes.preflight.checks import CgroupLimits, measure_load, read_cgroup_limits
from tests.unit.probes.fakes import HandClock, add_process, write


def limits(folder: Path, memberships: str) -> CgroupLimits:
    write(folder / "proc/self/cgroup", memberships)
    return read_cgroup_limits(folder / "proc", folder / "sys")


def test_cgroup_v2_limits_up_to_root(tmp_path: Path) -> None:
    write(tmp_path / "sys/fs/cgroup/user.slice/app.scope/cpu.max", "max 100000\n")
    write(tmp_path / "sys/fs/cgroup/user.slice/app.scope/memory.max", "max\n")
    write(tmp_path / "sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n")
    write(tmp_path / "sys/fs/cgroup/user.slice/memory.max", "4294967296\n")
    assert limits(tmp_path, "0::/user.slice/app.scope\n") == CgroupLimits(1.5, 4294967296)


@pytest.mark.parametrize("membership", ["0::/\n", "4:memory:/\n1:cpu,cpuacct:/\n"], ids=["v2", "v1"])
def test_no_limit_is_none(tmp_path: Path, membership: str) -> None:
    write(tmp_path / "sys/fs/cgroup/cpu.max", "max 100000\n")
    write(tmp_path / "sys/fs/cgroup/memory.max", "max\n")
    assert limits(tmp_path, membership) == CgroupLimits(None, None)


def test_container_group_is_root(tmp_path: Path) -> None:
    write(tmp_path / "sys/fs/cgroup/cpu.max", "200000 100000\n")
    assert limits(tmp_path, "0::/docker/abc\n") == CgroupLimits(2.0, None)


def test_this_machine_can_be_asked() -> None:
    assert isinstance(read_cgroup_limits(), CgroupLimits)


def set_machine(proc: Path, ticks: str, io_us: int) -> None:
    write(proc / "stat", f"cpu  {ticks}\n")
    write(proc / "pressure" / "io", f"some avg10=0.00 avg60=0.00 avg300=0.00 total={io_us}\n")


def test_foreign_load_with_names(tmp_path: Path) -> None:
    clock = HandClock()
    set_machine(tmp_path, "0 0 0 0 0 0 0 0", 0)
    add_process(tmp_path, 500, "backup", 1, (10, 0, 0, 0))
    add_process(tmp_path, 501, "idle", 1, (10, 0, 0, 0))

    def sleep(seconds: float) -> None:
        clock.advance(seconds)
        set_machine(tmp_path, "60 10 20 90 5 5 5 5", 200_000)
        add_process(tmp_path, 500, "backup", 1, (40, 20, 0, 0))

    load = measure_load(1.0, tmp_path, clock, sleep)
    assert 0.9 < load.foreign_cores <= 1.0  # 100 ticks less what this process used meanwhile
    assert load.steal_share == 0.025
    assert load.pressure == {"io_some": 0.2}
    assert [(busy.name, busy.pid, busy.cores) for busy in load.busiest] == [("backup", 500, 0.5)]


def test_own_helper_is_not_foreign_load(tmp_path: Path) -> None:
    clock = HandClock()
    set_machine(tmp_path, "0 0 0 0 0 0 0 0", 0)
    add_process(tmp_path, 500, "pgfooting-helpe", 1, (10, 0, 0, 0))

    def sleep(seconds: float) -> None:
        clock.advance(seconds)
        set_machine(tmp_path, "60 0 0 140 0 0 0 0", 0)
        add_process(tmp_path, 500, "pgfooting-helpe", 1, (40, 0, 0, 0))
        add_process(tmp_path, 501, "pgfooting-helpe", 1, (30, 0, 0, 0))  # it started meanwhile

    load = measure_load(1.0, tmp_path, clock, sleep)
    assert load.busiest == ()
    assert load.foreign_cores == 0


def test_a_machine_at_rest_has_no_load(tmp_path: Path) -> None:
    clock = HandClock()
    set_machine(tmp_path, "5 5 5 5 5 5 5 5", 7)
    load = measure_load(1.0, tmp_path, clock, clock.advance)
    assert (load.foreign_cores, load.steal_share, load.busiest) == (0, 0, ())
    assert load.pressure == {"io_some": 0}


def test_program_not_installed() -> None:
    with pytest.raises(ProgramError, match="not installed"):
        ask_program(("no-such-program-anywhere",))


def test_program_answer_is_output() -> None:
    assert ask_program(("echo", "hello")) == "hello\n"


def test_program_failure_in_own_words() -> None:
    with pytest.raises(ProgramError, match="No such file"):
        ask_program(("ls", "/no/such/path"))


def test_exit_status_1_with_answer() -> None:
    assert ask_program(("sh", "-c", "echo none; exit 1")) == "none\n"


def test_exit_status_1_without_answer() -> None:
    with pytest.raises(ProgramError):
        ask_program(("false",))


def test_a_program_that_hangs_is_ended() -> None:
    with pytest.raises(ProgramError, match="did not finish"):
        ask_program(("sleep", "600"), timeout_s=0.1)
