"""Tests on a virtual machine of their own: real kernels, real disks, nothing of the host at stake.

**A test that runs inside of the guest**, as root, is an ordinary test function in this folder
that names the disks it wants::

    pytestmark = [pytest.mark.machine, pytest.mark.inside("virtio:1G", "virtio:1G", "sata:2G:7200")]

    def test_a_mirror_survives(rig_disks: list[RigBlockDevice]) -> None: ...

`inside(*disks, group="")` takes disks as run-guest's ``--disk`` does
(`rig_disks.parse_disk`): ``KIND:SIZE[:RPM][,serial=TEXT][,wwn=HEX][,block=BYTES][,readonly]``. All tests of
a session with equal arguments share one start of the guest (or one for each part, where this machine has
processors and memory for several guests), in any order: each leaves the disks blank. Use few different
lists, because a start and pytest cost an emulated processor a minute. `group` keeps tests that
cannot share a guest with others in one of their own.

- `rig_disks` (fixture) lists the disks in the order asked for, found by their serials ``RIG<KIND><number>``
  (RIGVIRTIO1, RIGSATA3), never by name. It refuses to work anywhere else than in a guest of this rig.
- Everything takes 12 to 40 times as long there: no limits below minutes.
- The guest has what guest/packages lists, Python 3.11 with python3-gi, pydbus, pytest, hypothesis, psycopg,
  and no network. The project is copied to ``/srv/pgFooting project``, with changes that are not committed.
- Fixtures of ``tests/fix_*.py`` are absent, except `fix_log_records` (unexpected warnings fail here too).

`covers("filesystem ext4", "level md mirror", "preset ext4 defaults")` tells what a test stands for. The whole
tier (``packaging/test --machine``) runs all tests but those marked `campaigns`, which have a form of their
own (``--machine=campaigns``); the short one (``--machine=short``) the smallest choice that covers each
filesystem, level and preset once - but those that were just made and unmade on loop devices of this machine's
own kernel (tests.disks.covered) - and what is marked `@pytest.mark.short`. Tests with `covers` are also the
rows of the table that all print and keep.

**A test that runs on the host** and drives guests (boots, cuts their power, pulls a disk) carries `machine`
alone and uses `start_guest` (fixture), which gives `rig.Guest`.

**What needs a systemd but no disks** (units, control groups, bus activation) runs in a container of the
guest's root on the host's kernel, at native speed: inside_container.py, or by hand
``tests/system/in-container COMMAND``.

By hand: ``tests/machine/run-guest [--as root|user|seat] [--disk virtio:2G]... -- COMMAND`` (--help), for
example ``run-guest --disk nvme:1G -- python3 -m pytest ...`` or ``run-guest -- lsblk``. The first start
builds the guest (build-guest, minutes); later ones need no network. The accounts' passwords are their names
(root, tester)."""
