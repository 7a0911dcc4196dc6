"""packaging/system.sh: what is missing, what is said about it, and when apt is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.packaging.conftest import PROJECT, Scripts, missing

PROVIDE = "find_cache_folder\nprovide_system_packages engine\n"
REAL_HAS = f'. <(sed -n "/^has() {{/,/^}}/p" {str(PROJECT / "packaging/system.sh")!r})\n'
RECORD_APT = 'install_debian_packages() { printf "%s\\n" "$@" >"$FAKE/installed"; rm -rf "$FAKE/without"; }\n'


def installed(scripts: Scripts) -> list[str]:
    record = scripts.fake / "installed"
    return record.read_text().split() if record.exists() else []


def test_every_need_has_reason_and_packages(scripts: Scripts) -> None:
    needs = scripts.call('printf "%s\\n" "${NEEDS[@]}"').stdout.splitlines()
    assert needs
    for need in needs:
        fields = need.split("|")
        assert len(fields) == 6
        assert all(fields)


@pytest.mark.parametrize(
    "use", ["engine", "picture", "window", "packages", "test", "disks", "matrix", "machine"]
)
def test_every_need_of_a_use_is_declared(scripts: Scripts, use: str) -> None:
    outcome = scripts.call(f'for name in $(needs_of {use}); do need_field "$name" 1 && echo; done')
    assert outcome.returncode == 0
    assert all(outcome.stdout.splitlines())


def test_nothing_missing(scripts: Scripts) -> None:
    outcome = scripts.call(RECORD_APT + PROVIDE)
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "", "")
    assert installed(scripts) == []


def test_missing_packages_explained_and_installed(scripts: Scripts) -> None:
    missing(scripts, "postgresql", "gi")
    outcome = scripts.call(RECORD_APT + PROVIDE)
    assert outcome.returncode == 0
    assert outcome.stdout == ""
    assert "postgresql: the server and pgbench, which are what is measured" in outcome.stderr
    assert installed(scripts) == ["python3-gi", "postgresql"]


def test_packages_still_missing_after_apt(scripts: Scripts) -> None:
    missing(scripts, "postgresql")
    errors = scripts.refusal("install_debian_packages() { :; }\n" + PROVIDE)
    assert "apt reports success, yet this is missing" in errors


def test_no_sudo_prints_administrator_command(scripts: Scripts) -> None:
    missing(scripts, "postgresql", "venv")
    errors = scripts.refusal('command() { [[ "$*" != "-v sudo" ]] && builtin command "$@"; }\n' + PROVIDE)
    assert "there is no sudo here. Nothing was changed." in errors
    assert "apt-get install --no-install-recommends python3-venv postgresql" in errors
    assert "creates and starts a cluster (port 5432)" in errors
    assert list(scripts.home.iterdir()) == []
    assert "Without network: packaging/bundle" in errors


def test_where_sudo_refuses_the_command_is_told(scripts: Scripts) -> None:
    missing(scripts, "postgresql")
    errors = scripts.refusal('sudo() { echo "$*" >"$FAKE/sudo"; return 1; }\n' + PROVIDE)
    command = "sudo apt-get install --no-install-recommends postgresql"
    assert f"Run, or let an administrator run:  {command}" in errors
    assert "creates and starts a cluster (port 5432)" in errors
    assert (scripts.fake / "sudo").read_text() == "-n true\n"  # without a terminal it may not ask


def test_refusal_removes_only_own_folders(scripts: Scripts) -> None:
    missing(scripts, "venv")
    (scripts.home / ".cache").mkdir()
    errors = scripts.refusal("sudo() { return 1; }\n" + PROVIDE)
    assert "cluster" not in errors
    assert list(scripts.home.rglob("*")) == [scripts.home / ".cache"]
    (scripts.home / ".cache" / "pgfooting").mkdir()
    assert scripts.call("sudo() { return 1; }\n" + PROVIDE).returncode == 1
    assert list(scripts.home.rglob("*")) == [scripts.home / ".cache", scripts.home / ".cache" / "pgfooting"]


@pytest.mark.parametrize("found", ["", "archive.ubuntu.com_ubuntu_dists_noble_main_binary-amd64_Packages"])
@pytest.mark.parametrize("sudo", ["", "sudo "])
def test_apt_without_lists(scripts: Scripts, found: str, sudo: str) -> None:
    """On a fresh system apt knows no package, and the command that is told would be refused."""
    missing(scripts, "postgresql")
    lists = scripts.fake / "lists"
    lists.mkdir()
    (lists / (found or "lock")).touch()
    none = 'command() { [[ "$*" != "-v sudo" ]] && builtin command "$@"; }\n'
    refuse = "sudo() { return 1; }\n" if sudo else none
    errors = scripts.refusal('APT_LISTS="$FAKE/lists"\n' + refuse + PROVIDE)
    text = f"apt has no lists of packages here; before that:  {sudo}apt-get update\n"
    assert (text in errors) == (not found)


@pytest.mark.parametrize("found", ["", "deb.debian.org_debian_dists_trixie_main_binary-amd64_Packages"])
def test_apt_offline(scripts: Scripts, found: str) -> None:
    missing(scripts, "postgresql")
    lists = scripts.fake / "lists"
    lists.mkdir()
    (lists / (found or "lock")).touch()
    code = "sudo() { [[ ${*: -1} == true ]]; }\n"  # on a machine of root's, `bash` is what fails
    errors = scripts.refusal('APT_LISTS="$FAKE/lists"\n' + code + "bash() { return 100; }\n" + PROVIDE)
    assert "apt-get install --no-install-recommends postgresql" in errors
    assert ("apt has no lists of packages here; before that:  " in errors) == (not found)
    assert "Without network: packaging/bundle, on a machine with network" in errors


@pytest.mark.parametrize("torn", ["", "The following packages are only half installed: postgresql-17"])
def test_apt_ended_before_dpkg(scripts: Scripts, torn: str) -> None:
    missing(scripts, "postgresql")
    code = "sudo() { [[ ${*: -1} == true ]]; }\nbash() { return 100; }\n"
    code += f"CLUSTER_SWITCH=$FAKE/none\ndpkg() {{ printf %s {torn!r}; }}\n"
    assert scripts.call(code + PROVIDE).returncode == 1
    outcome = scripts.call(f"dpkg-query() {{ :; }}\n{code}{PROVIDE}")
    assert ("interrupted" in outcome.stderr) == bool(torn)
    assert "postgresql: the server and pgbench" in outcome.stderr


def test_bundle_names_its_installer(scripts: Scripts, tmp_path: Path) -> None:
    bundle = tmp_path / "a bundle"
    (bundle / "packages").mkdir(parents=True)
    (bundle / "packages" / "wanted").touch()
    (bundle / "install").touch(mode=0o755)
    missing(scripts, "postgresql")
    code = f"bundle={str(bundle)!r}\n" + 'sudo() { return 1; }\nCHECKOUT="$bundle/pgfooting"\n'
    errors = scripts.refusal(code + "network_advice >&2\n" + 'find_way_to_root "apt-get install"\n')
    pasted = str(bundle / "install").replace(" ", r"\ ")
    text = (
        f"{pasted} needs no network. Where packages are missing, an administrator first starts the "
        "install of a copy that nobody else can change."
    )
    assert errors.count(text) == 2
    assert "packaging/bundle" not in errors


def test_interrupted_installation_resumed(scripts: Scripts) -> None:
    code = 'find_cache_folder\nprintf "%s\\n" postgresql python3-gi >"$CACHE/unfinished-packages"\n'
    code += 'dpkg-query() { case "$*" in *python3-gi*) echo installed ;; *) echo half-configured ;; esac; }\n'
    outcome = scripts.call(code + RECORD_APT + PROVIDE)
    assert outcome.returncode == 0
    assert "An installation was interrupted before postgresql were done" in outcome.stderr
    assert installed(scripts) == ["postgresql"]


def test_interruption_finished_elsewhere(scripts: Scripts) -> None:
    code = (
        'find_cache_folder\necho postgresql >"$CACHE/unfinished-packages"\ndpkg-query() { echo installed; }\n'
    )
    outcome = scripts.call(
        code + RECORD_APT + PROVIDE + "[[ ! -e $CACHE/unfinished-packages ]] && echo forgotten"
    )
    assert outcome.stdout == "forgotten\n"
    assert installed(scripts) == []


def test_killed_before_cleanup(scripts: Scripts) -> None:
    code = (
        'find_cache_folder\necho postgresql >"$CACHE/unfinished-packages"\ndpkg-query() { echo installed; }\n'
    )
    code += "CLUSTER_SWITCH=$FAKE/os-release\n"  # a file that exists
    scripts.call(code + RECORD_APT + PROVIDE)
    assert installed(scripts) == ["postgresql"]


def test_cluster_switch_path_agrees(scripts: Scripts) -> None:
    code = f'. <(grep -E "^(FOLDER|SWITCH)=" {str(PROJECT / "packaging/install-debian-packages")!r})\n'
    assert scripts.call(code + '[[ $SWITCH == "$CLUSTER_SWITCH" ]]').returncode == 0


@pytest.mark.parametrize(
    ("release", "command"),
    [
        ("ID=fedora", "Fedora: dnf install postgresql-server postgresql-contrib"),
        (
            'ID="rocky"\nID_LIKE="rhel centos fedora"',
            "Fedora: dnf install postgresql-server postgresql-contrib",
        ),
        ("ID=arch", "Arch: pacman -S postgresql"),
        ("ID=opensuse-tumbleweed\nID_LIKE='opensuse suse'", "openSUSE: zypper install postgresql-server"),
    ],
)
def test_other_distribution_lists_packages(scripts: Scripts, release: str, command: str) -> None:
    (scripts.fake / "os-release").write_text(release)
    missing(scripts, "postgresql")
    errors = scripts.refusal(RECORD_APT + PROVIDE)
    assert command in errors
    assert "Nothing was changed." in errors
    assert installed(scripts) == []


def test_an_unknown_distribution_gets_every_list(scripts: Scripts) -> None:
    (scripts.fake / "os-release").write_text("ID=hannah-montana")
    missing(scripts, "postgresql")
    said = scripts.call(PROVIDE).stderr
    assert all(name in said for name in ("Fedora:", "Arch:", "openSUSE:"))


def test_elsewhere_a_missing_pydbus_comes_from_pypi(scripts: Scripts) -> None:
    (scripts.fake / "os-release").write_text("ID=fedora")
    (scripts.fake / "facts").write_text("3 13\nlacks pydbus\n")
    missing(scripts, "pydbus")
    outcome = scripts.call(PROVIDE + "package_lists run")
    assert outcome.returncode == 0
    assert [Path(line).name for line in outcome.stdout.splitlines()] == ["run-3.13.txt", "pydbus.txt"]


@pytest.mark.parametrize("release", ["ID=ubuntu\nID_LIKE=debian", 'ID=linuxmint\nID_LIKE="ubuntu debian"'])
def test_debian_derivatives(scripts: Scripts, release: str) -> None:
    (scripts.fake / "os-release").write_text(release)
    missing(scripts, "postgresql")
    scripts.call(RECORD_APT + PROVIDE)
    assert installed(scripts) == ["postgresql"]


def test_python_too_old(scripts: Scripts) -> None:
    (scripts.fake / "facts").write_text("3 9\n")
    errors = scripts.refusal(PROVIDE)
    assert "is Python 3.9; pgFooting needs the system's own Python to be 3.11 or newer" in errors


def test_python_does_not_start(scripts: Scripts) -> None:
    (scripts.fake / "facts").unlink()
    errors = scripts.refusal(PROVIDE)
    assert "does not work" in errors


def test_probe_reports_version_and_modules(scripts: Scripts) -> None:
    outcome = scripts.run(["/usr/bin/python3", "-I", str(PROJECT / "packaging" / "probe_system.py")])
    lines = outcome.stdout.splitlines()
    assert lines[0].split()[0] == "3"
    assert all(line.startswith("lacks ") for line in lines[1:])


def make_programs(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch(mode=0o755)


@pytest.mark.parametrize(
    ("folder", "programs", "found"),
    [
        ("lib/postgresql/15/bin", ("postgres", "initdb", "pgbench"), True),
        ("pgsql-18/bin", ("postgres", "initdb", "pgbench"), True),
        ("bin", ("postgres", "initdb", "pgbench"), True),
        ("lib/postgresql/11/bin", ("postgres", "initdb", "pgbench"), False),
        ("lib/postgresql/15/bin", ("postgres", "initdb"), False),
        ("lib/postgresql/15/bin", ("pgbench",), False),
    ],
)
def test_server_programs_and_version(
    scripts: Scripts, tmp_path: Path, folder: str, programs: tuple[str, ...], *, found: bool
) -> None:
    make_programs(tmp_path / "usr" / folder, *programs)
    code = f'command() {{ return 1; }}\nSERVER_FOLDERS="{tmp_path}/usr/{folder}"\n'
    assert scripts.call(code + "has_postgresql && echo found || echo none").stdout == (
        "found\n" if found else "none\n"
    )


def test_fresh_server_found(scripts: Scripts, tmp_path: Path) -> None:
    code = f'command() {{ return 1; }}\nSERVER_FOLDERS="{tmp_path}/usr/lib/postgresql/*/bin"\n'
    code += f"has_postgresql || echo none\nmkdir -p {tmp_path}/usr/lib/postgresql/17/bin && cd $_\n"
    code += "touch postgres initdb pgbench && chmod 755 *\nhas_postgresql && echo found"
    assert scripts.call(code).stdout == "none\nfound\n"


@pytest.mark.parametrize(
    ("wanted", "found"), [("libEGL.so.1", True), ("libEGL.so.2", False), ("libE.so.1", False)]
)
def test_library_matched_by_whole_name(scripts: Scripts, wanted: str, *, found: bool) -> None:
    code = "fake() { printf '\\tlibEGL.so.1 (libc6,x86-64) => /lib/libEGL.so.1\\n'; }\nLDCONFIG=fake\n"
    outcome = scripts.call(code + f"has_libraries {wanted} && echo found || echo none")
    assert outcome.stdout == ("found\n" if found else "none\n")


@pytest.mark.parametrize("name", ["venv", "gi", "pydbus"])
def test_what_python_lacks_is_missing(scripts: Scripts, name: str) -> None:
    code = REAL_HAS + f'FACTS=$(printf "3 11\\nlacks {name}\\n")\nhas {name} && echo here || echo missing'
    assert scripts.call(code).stdout == "missing\n"


@pytest.mark.parametrize("name", ["venv", "gi", "pydbus"])
def test_no_python_all_modules_missing(scripts: Scripts, name: str) -> None:
    assert scripts.call(REAL_HAS + f'FACTS=""\nhas {name} && echo here || echo missing').stdout == "missing\n"
