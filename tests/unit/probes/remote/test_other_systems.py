"""Output of other systems that was recorded, or follows from sources, is understood; see its README.md."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from app.analysis.data_set import compression_in_effect
from app.analysis.properties import properties_of
from app.probes.base.probe import Facts
from app.probes.remote.connection import LineKind, RemoteLine
from app.probes.remote.facts import TRIED_SYSTEMS, RemoteFacts, remote_fact_tree, sort_facts
from app.runfile.metadata.environment import EnvironmentFacts, machine_rows, read_environment_facts
from app.runfile.metadata.run_metadata import RunMetadata

DATA = Path(__file__).parents[3] / "data/probes/remote"


def lines(name: str) -> list[str]:
    return (DATA / name).read_text().splitlines()


def test_recorded_files_name_their_source() -> None:
    text = (DATA / "README.md").read_text()
    for path in DATA.iterdir():
        assert path.name == "README.md" or f"`{path.name}`" in text


# --- facts


def sorted_facts(*names: str) -> RemoteFacts:
    found = [line.split("\t") for name in names for line in lines(name)]
    return sort_facts(RemoteLine(LineKind(kind), tuple(fields)) for kind, *fields in found)


def test_freebsd_facts_use_local_keys() -> None:
    tree = remote_fact_tree(sorted_facts("freebsd-facts.txt"))
    facts = read_environment_facts(tree)
    assert facts.processor.startswith("Intel(R) Atom")
    assert facts.online_cpus == 4
    assert facts.memory_bytes == 4248858624
    assert facts.filesystem == "ufs"
    assert facts.mount_options == ("local", "soft-updates")
    assert facts.kernel == "14.4-RELEASE-p10"
    reached = tree["reached"]
    assert reached == {"over": "ssh", "system": "FreeBSD", "tried": False}
    load = tree["load"]
    assert isinstance(load, dict)
    assert load["average"] == [0.32, 0.33, 0.25]
    assert {"Linux"} == TRIED_SYSTEMS


def _facts_from(*named: tuple[str, str], **output: list[str]) -> Facts:
    return remote_fact_tree(RemoteFacts(named=dict(named), output=output))


def test_mount_tables_of_all_systems_are_read() -> None:
    for line, expected in (
        ("/dev/wd0a on / type ffs (local)", ("/dev/wd0a", "ffs", ["local"])),
        ("/dev/sd0a on / type ffs (local, softdep)", ("/dev/sd0a", "ffs", ["local", "softdep"])),
        ("ROOT on / (hammer2, local)", ("ROOT", "hammer2", ["local"])),
        (
            "/ on rpool/ROOT/omnios read/write/setuid/devices/dev=4410002 on Mon Jan  8 03:02:40 2018",
            ("rpool/ROOT/omnios", "zfs", ["read", "write", "setuid", "devices"]),
        ),
    ):
        tree = _facts_from(("place.found", "/var/db"), mount=[line])
        storage = tree["storage"]
        assert isinstance(storage, dict)
        mount = storage["mount"]
        assert isinstance(mount, dict)
        assert (mount["source"], mount["filesystem"], mount["options"]) == expected


def test_processors_of_illumos_are_counted_and_named() -> None:
    facts = RemoteFacts(output={"psrinfo": lines("smartos-psrinfo.txt"), "prtconf": ["47184"]})
    assert facts.cpus >= 24
    tree = remote_fact_tree(facts)
    environment = read_environment_facts(tree)
    assert environment.memory_bytes == 47184 * 1024 * 1024
    assert "Xeon" in environment.processor


def test_missing_facts_are_absent() -> None:
    facts = read_environment_facts(remote_fact_tree(RemoteFacts()))
    assert facts.online_cpus is None
    assert facts.memory_bytes is None
    assert facts.filesystem == ""
    assert facts.devices == ()


def _facts_of(path: str, **output: list[str]) -> EnvironmentFacts:
    return read_environment_facts(_facts_from(("place.found", path), **output))


def test_mnttab_illumos_ufs_options() -> None:
    facts = _facts_of("/pg/data", mnttab=lines("illumos-mnttab.txt"))
    assert facts.filesystem == "ufs"
    assert "forcedirectio" in facts.mount_options
    assert not any(option.startswith("dev=") for option in facts.mount_options), "a number, no option"
    assert _facts_of("/", mnttab=lines("illumos-mnttab.txt")).filesystem == "zfs"


def test_dumpfs_ufs_without_size_and_device() -> None:
    facts = _facts_of("/", dumpfs=lines("freebsd-dumpfs-m.txt"), mount=["/dev/da0p2 on / (ufs, local)"])
    assert facts.reported["made_with"].startswith("newfs -O 2 -U -a 4 -b 32768 -d 32768")
    assert facts.reported["made_with"].endswith("-m 8 -o time")
    rows = dict(machine_rows(facts))
    assert rows["Created with"] == facts.reported["made_with"]
    assert _facts_of("/", dumpfs=["newfs"]).reported == {}
    assert _facts_of("/", dumpfs=["dumpfs: /dev/da0p2: could not read superblock"]).reported == {}


def test_hammer2_compression_and_checks_compared() -> None:
    facts = _facts_of("/pg/data", **{"hammer2-stat": lines("dragonfly-hammer2-stat.txt")})
    assert facts.reported == {"compression": "lz4:default", "check": "xxhash64"}
    assert compression_in_effect(facts) == "compression=lz4:default"
    named = {each.name: each.value for each in properties_of(RunMetadata(), facts)}
    assert named["filesystem compression"] == "lz4:default"
    assert named["filesystem checksums"] == "xxhash64"
    heading, row = lines("dragonfly-hammer2-stat.txt")
    for comp in ("none:default", "autozero:default"):
        other = _facts_of("/pg", **{"hammer2-stat": [heading, row.replace("lz4:default", comp)]})
        assert compression_in_effect(other) == ""
    quota = _facts_of("/pg", **{"hammer2-stat": [heading, f"{row} 10.0GB/500"]})
    assert quota.reported == facts.reported
    for broken in ([heading], [heading, ""], [heading, "/pg 1 2"], ["PATH ncp", row], [row]):
        assert _facts_of("/pg", **{"hammer2-stat": broken}).reported == {}


def test_hammer_tells_the_version_of_its_format() -> None:
    facts = _facts_of("/pg", **{"hammer-info": lines("dragonfly-hammer-info.txt")})
    assert facts.reported == {"format_version": "6"}


def test_hammer2_volumes_kept_verbatim() -> None:
    tree = _facts_from(**{"hammer2-info": lines("dragonfly-hammer2-info.txt")})
    storage = tree["storage"]
    assert isinstance(storage, dict)
    assert storage["filesystem"] == {"volumes": lines("dragonfly-hammer2-info.txt")}


@given(
    st.lists(
        st.tuples(st.sampled_from(LineKind), st.lists(st.text(max_size=30), min_size=3, max_size=4)),
        max_size=50,
    )
)
def test_any_facts_become_a_tree(expected: list[tuple[LineKind, list[str]]]) -> None:
    facts = sort_facts(RemoteLine(kind, tuple(fields)) for kind, fields in expected)
    read_environment_facts(remote_fact_tree(facts))


def test_endless_facts_are_bounded() -> None:
    facts = sort_facts(
        RemoteLine(kind, (f"a{number}", f"b{number}", "c"))
        for kind in (LineKind.FACT, LineKind.DEVICE, LineKind.PROPERTY, LineKind.OUTPUT)
        for number in range(5000)
    )
    assert max(len(each) for each in (facts.named, facts.devices, facts.properties, facts.output)) <= 500


def test_machine_rows_name_unknowns() -> None:
    rows = dict(machine_rows(read_environment_facts(remote_fact_tree(sorted_facts("freebsd-facts.txt")))))
    assert rows["Machine"].endswith("4 CPUs, 3.96 GiB")
    assert rows["Filesystem"] == "ufs local,soft-updates"
    assert rows["Disks"] == "not known"
    assert rows["Read via"] == "ssh, FreeBSD, not tried on a real system"
    refused = machine_rows(read_environment_facts({"reached": {"over": "ssh", "unreadable": "it refused"}}))
    assert refused == (("Machine", "ssh, failed: it refused"),)
