"""The packages and dpkg: killed at each step, half there, downgraded, without room, in a wrong release.

They are small packages with the control files and the maintainer scripts of packaging/debian. What dpkg
writes goes into an overlay on /usr, and its database is an empty one of its own: nothing of this machine is
changed or looked at.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.packaging.conftest import PROJECT

PACKAGING = PROJECT / "packaging"
SCRIPTS = ("preinst", "postinst", "prerm", "postrm")
PROGRAM = "usr/share/pgfooting"
SERVICE = "usr/lib/pgfooting/helper"

# dpkg starts its scripts and dpkg-deb itself: their parent is what is killed.
DYING_SCRIPT = "if [ -e /dies/{step} ]; then rm /dies/{step}; kill -KILL $PPID; fi\n"
# Gives dpkg what is before the last file, waits until that is there, and kills it. Dollars are the shell's.
DYING_DPKG_DEB = """#!/bin/bash
for package in pgfooting pgfooting-helper; do
  if [[ -e /dies/$package.unpack && "$*" == *--fsys-tarfile*/${package}_* ]]; then
    rm -- "/dies/$package.unpack"
    /usr/bin/dpkg-deb "$@" | head --bytes=-300000
    until compgen -G "/usr/*/pgfooting/app/*.dpkg-new" || compgen -G "/usr/lib/pgfooting/*/app/*.dpkg-new"; do
      sleep 0.01
    done
    kill -KILL $PPID
    exit
  fi
done
exec /usr/bin/dpkg-deb "$@"
"""

ROOM = """
set -euo pipefail
room=$1 made=$2 options=""
((REAL_ROOT)) || options=,userxattr
mount -t tmpfs tmpfs "$room"
mkdir -p "$room"/{upper,work,root/{usr,etc,proc,dev,tmp,run,dies,made,var/log}}
mkdir -p "$room"/root/var/lib/dpkg/{info,updates,triggers}
for link in bin sbin lib lib64; do [[ ! -L /$link ]] || ln -s "usr/$link" "$room/root/$link"; done
mount -t overlay overlay -o "lowerdir=/usr,upperdir=$room/upper,workdir=$room/work$options" "$room/root/usr"
mount --rbind /etc "$room/root/etc"
mount --rbind /proc "$room/root/proc"
mount --rbind /dev "$room/root/dev"
mount --bind "$made" "$room/root/made"
mount --bind "$room/upper" "$room/root/tmp"
cp "$made/status" "$room/root/var/lib/dpkg/status"
touch "$room"/root/var/lib/dpkg/info/the-release.{list,md5sums}
rm -rf "$room"/root/usr/{share,lib}/pgfooting "$room"/root/usr/lib*/systemd/system/*pgfooting*
exec chroot "$room/root" /usr/bin/env -i PATH=/made/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \\
  DEBIAN_FRONTEND=noninteractive /bin/bash -c "$3"
"""

# What the tests' own lines may use. /tmp is what was written below /usr.
LINES = """
set -euo pipefail
fails() { echo "NOT SO: $*"; exit 1; }
written() { (cd /tmp && find . ! -type d; find . -name '*pgfooting*' -type d) | sort; }
# Prints the state of each PACKAGE that dpkg knows.
states() { dpkg-query --show --showformat='${db:Status-Status} ' "$@" 2>/dev/null || true; }
# Fails where both packages are not there whole.
whole() {
  [[ -z $(dpkg --audit) ]] || fails "$(dpkg --audit)"
  [[ -z $(dpkg --verify pgfooting pgfooting-helper) ]] || fails "a file is not as it was packed"
  [[ $(states pgfooting pgfooting-helper) == "installed installed " ]] || fails "$(states 'pgfooting*')"
}
nothing_is_left() {
  written >/run/now
  diff /run/before /run/now || fails "it left something"
  [[ ! $(states 'pgfooting*') =~ installed|config-files|half ]] || fails "$(states 'pgfooting*')"
}
# Starts dpkg, which dies at STEP: STEP ARGUMENT...
dies_at() {
  local step=$1 status=0
  shift
  touch "/dies/$step"
  (dpkg "$@" >/run/said 2>&1) 2>/dev/null || status=$?
  ((status == 137)) || fails "dpkg was not killed: $status $(</run/said)"
  [[ ! -e /dies/$step ]] || fails "it did not come as far as $step"
}
written >/run/before
"""
OLD = "/made/old/*.deb"
NEW = "/made/new/*.deb"
PACKAGES = "pgfooting pgfooting-helper"


def namespaces() -> list[str]:
    """The command that starts another one in namespaces of its own, without network."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *user, "--mount", "--net", "--pid", "--fork", "--kill-child"]


def possible() -> bool:
    if any(shutil.which(name) is None for name in ("unshare", "dpkg", "dpkg-deb")):
        return False
    option = "lowerdir=/usr,upperdir=/mnt/u,workdir=/mnt/w" + ("" if os.geteuid() == 0 else ",userxattr")
    code = "mount -t tmpfs tmpfs /mnt && mkdir /mnt/u /mnt/w && mount -t overlay overlay -o $1 /mnt"
    code += " && mkdir /mnt/lib/pgfooting-probe"  # what root owns stays closed to others
    argv = [*namespaces(), "sh", "-c", code, "sh", option]
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not possible(), reason="dpkg is missing, or no namespace with an overlay can be made"),
]


def staged(root: Path, package: str, *, version: str) -> None:
    """Writes what the small PACKAGE holds; the older version has a module more."""
    tree = PROGRAM if package == "pgfooting" else SERVICE
    modules = ["app/__init__.py", "app/told.py"] + (["app/gone.py"] if version == "1" else [])
    for name in modules:
        path = root / tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'"""Version {version}."""\n')
    program = root / ("usr/bin/pgfooting" if package == "pgfooting" else "usr/libexec/pgfooting-helper")
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    (root / tree / "zz-last").write_bytes(os.urandom(400_000))


def provided(*, less: str = "nothing") -> str:
    """dpkg's status of a system that has all that the packages depend on, but for LESS."""
    given = []
    for package in PACKAGES.split():
        control = (PACKAGING / "debian" / f"{package}.control").read_text()
        (depends,) = re.findall(r"^Depends: (.*)$", control, re.MULTILINE)
        given += [each.replace(">=", "=") for each in depends.split(", ") if less not in each]
    return (
        "Package: the-release\nStatus: install ok installed\nMaintainer: nobody <nobody@localhost>\n"
        "Architecture: all\nVersion: 1\nDescription: all of it\n"
        f"Provides: {', '.join(sorted(set(given)))}\n\n"
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both packages in an older and a newer version, and with programs that may die."""
    folder = tmp_path_factory.mktemp("made")
    checkout = folder / "checkout"
    shutil.copytree(PACKAGING, checkout / "packaging")
    shutil.copy(PROJECT / "LICENSE", checkout)
    shutil.copytree(PROJECT / "resources/fonts", checkout / "resources/fonts")
    shutil.copytree(PROJECT / "resources/icons/lucide", checkout / "resources/icons/lucide")
    for package in PACKAGES.split():
        for script in SCRIPTS:
            path = checkout / "packaging/debian" / f"{package}.{script}"
            if path.exists():
                start, text = path.read_text().split("\n", 1)
                first, last = (
                    DYING_SCRIPT.format(step=f"{package}.{script}.{moment}") for moment in ("first", "last")
                )
                path.write_text(f"{start}\n{first}{text}{last}")
    program = (PACKAGING / "deb").read_text()
    functions = program[: program.rindex("main")].replace(
        '$(dirname -- "$(dirname -- "$(readlink --canonicalize -- "${BASH_SOURCE[0]}")")")', str(checkout)
    )
    code = f"{functions}\nVERSION=$1 HOMEPAGE=https://nowhere.test MAINTAINER='n <n@nowhere.test>'; build "
    for version, name in (("1", "old"), ("2", "new")):
        (folder / name).mkdir()
        for package in PACKAGES.split():
            root = folder / f"{package}-{version}"
            staged(root, package, version=version)
            argv = [
                "bash",
                "-c",
                f'{code}"$2" "$3" "$4"',
                "deb",
                version,
                package,
                str(root),
                str(folder / name),
            ]
            environment = {**os.environ, "SOURCE_DATE_EPOCH": "1790000000"}
            subprocess.run(argv, check=True, capture_output=True, env=environment)
    (folder / "bin").mkdir()
    (folder / "bin/dpkg-deb").write_text(DYING_DPKG_DEB)
    (folder / "bin/dpkg-deb").chmod(0o755)
    (folder / "status").write_text(provided())
    return folder


def tried(made: Path, room: Path, lines: str) -> str:
    """What LINES of bash say in a root of their own; they have to end well."""
    argv = [*namespaces(), "bash", "-c", ROOM, "room", str(room), str(made), LINES + lines]
    environment = {**os.environ, "REAL_ROOT": str(int(os.geteuid() == 0))}
    outcome = subprocess.run(
        argv, capture_output=True, text=True, check=False, env=environment, stdin=subprocess.DEVNULL
    )
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return outcome.stdout


AGAIN = f"""
dpkg --configure --pending >/run/said 2>&1 || true
dpkg --install {NEW}
whole
! compgen -G '/usr/*/pgfooting/app/gone.py' || fails "gone.py is there"
! compgen -G '/usr/lib/pgfooting/*/app/gone.py' || fails "gone.py of root's part is there"
dpkg --purge {PACKAGES}
nothing_is_left
"""

UNPACKING = [f"{package}.unpack" for package in PACKAGES.split()]
INSTALLING = [
    *UNPACKING,
    *(f"pgfooting-helper.preinst.{moment}" for moment in ("first", "last")),
    *(f"{package}.postinst.{moment}" for package in PACKAGES.split() for moment in ("first", "last")),
]
UPGRADING = [
    *UNPACKING,
    "pgfooting-helper.preinst.last",
    *(
        f"{package}.{script}"
        for package in PACKAGES.split()
        for script in ("prerm.last", "postrm.first", "postinst.last")
    ),
]
PURGING = [f"{package}.{script}" for package in PACKAGES.split() for script in ("prerm.last", "postrm.first")]


def first_and_last(steps: list[str]) -> list[object]:
    """Return the steps; those between the first and the last take long together."""
    return [steps[0], *(pytest.param(each, marks=pytest.mark.longest) for each in steps[1:-1]), steps[-1]]


@pytest.mark.parametrize("step", first_and_last(INSTALLING))
def test_resume_after_killed_install(made: Path, tmp_path: Path, step: str) -> None:
    tried(made, tmp_path, f"dies_at {step} --install {NEW}\n{AGAIN}")


@pytest.mark.parametrize("step", first_and_last(UPGRADING))
def test_resume_after_killed_upgrade(made: Path, tmp_path: Path, step: str) -> None:
    tried(made, tmp_path, f"dpkg --install {OLD}\ndies_at {step} --install {NEW}\n{AGAIN}")


@pytest.mark.parametrize("step", first_and_last(PURGING))
def test_resume_after_killed_purge(made: Path, tmp_path: Path, step: str) -> None:
    lines = f"dpkg --install {NEW}\ndies_at {step} --purge {PACKAGES}\n"
    tried(
        made,
        tmp_path,
        f"{lines}dpkg --configure --pending || true\ndpkg --purge {PACKAGES}\nnothing_is_left\n",
    )


def test_half_upgraded_package_purged(made: Path, tmp_path: Path) -> None:
    """A first installation that was killed has to be done again before: dpkg knows none of its files."""
    lines = f"""
    dpkg --install {OLD}
    dies_at pgfooting.unpack --install {NEW}
    [[ $(dpkg --audit) == *$'\\n pgfooting '* ]] || fails "dpkg finds it whole"
    dpkg --purge --force-remove-reinstreq {PACKAGES}
    nothing_is_left
    """
    tried(made, tmp_path, lines)


def test_downgrade_then_purge(made: Path, tmp_path: Path) -> None:
    lines = f"""
    dpkg --install {NEW}
    dpkg --install {OLD}
    whole
    [[ -e /usr/share/pgfooting/app/gone.py ]] || fails "it is not the older one"
    dpkg --remove {PACKAGES}
    [[ ! -e /usr/share/pgfooting && ! -e /usr/lib/pgfooting ]] || fails "removing left a folder"
    dpkg --purge {PACKAGES}
    nothing_is_left
    """
    tried(made, tmp_path, lines)


@pytest.mark.parametrize("folder", ["/usr/share/pgfooting", "/usr/lib/pgfooting"])
def test_resume_after_full_disk(made: Path, tmp_path: Path, folder: str) -> None:
    lines = f"""
    mkdir {folder}
    mount -t tmpfs -o size=64K tmpfs {folder}
    ! dpkg --install {NEW} >/run/said 2>&1 || fails "there was room"
    grep --quiet "No space left on device" /run/said || fails "$(</run/said)"
    umount {folder}
    """
    tried(made, tmp_path, lines + AGAIN)


def test_release_without_dependencies(made: Path, tmp_path: Path) -> None:
    (tmp_path / "room").mkdir()
    lines = f"""
    ! dpkg --install {NEW} >/run/said 2>&1 || fails "it was installed"
    cat /run/said
    [[ $(states pgfooting) == "unpacked " ]] || fails "$(states pgfooting)"
    [[ $(states pgfooting-helper) == "installed " ]] || fails "root's part needs no Qt"
    dpkg --purge {PACKAGES}
    nothing_is_left
    """
    wrong = tmp_path / "made"
    shutil.copytree(made, wrong, ignore=shutil.ignore_patterns("checkout"))
    (wrong / "status").write_text(provided(less="pyside6"))
    found = tried(wrong, tmp_path / "room", lines)
    assert "pgfooting depends on python3-pyside6.qtcore (>= 6.8); however:" in found
    assert "Package python3-pyside6.qtcore is not installed." in found


@pytest.mark.parametrize("name", ["MANIFEST", "MANIFEST.new"])
def test_refused_over_helper_copy(made: Path, tmp_path: Path, name: str) -> None:
    lines = f"""
    mkdir --parents /usr/lib/pgfooting/helper/app
    echo mine | tee /usr/lib/pgfooting/helper/app/told.py >/usr/lib/pgfooting/helper/{name}
    written >/run/copy
    ! dpkg --install {NEW.replace("*", "pgfooting-helper_*")} >/run/said 2>&1 || fails "it was installed"
    grep --quiet "sudo packaging/helper uninstall" /run/said || fails "$(</run/said)"
    written >/run/now
    diff /run/copy /run/now || fails "it changed what is there"
    [[ $(</usr/lib/pgfooting/helper/app/told.py) == mine ]] || fails "it wrote over a file"
    rm -r /usr/lib/pgfooting
    """
    tried(made, tmp_path, lines + AGAIN)
