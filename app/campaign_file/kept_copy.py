"""What a campaign folder keeps of its campaign: the file, and digests of the scripts that it names.

The file names scripts by their path; whoever changes one of them changes what is measured. So the digests
stand below the campaign as comments of TOML, and `--resume` compares them with the scripts of now.
"""

from __future__ import annotations

import hashlib
from typing import Final

from app.campaign_file.writer import format_campaign
from app.domain.campaign.configuration import Campaign

_BEGIN: Final = "# script SHA-256 "


def state_campaign(campaign: Campaign) -> str:
    """Return the text of a campaign file that parses back to an equal campaign and knows its scripts."""
    lines = [f"{_BEGIN}{digest} {path}\n" for path, digest in sorted(_digests(campaign).items())]
    return format_campaign(campaign) + "".join(lines)


def changed_scripts(stated: str, campaign: Campaign) -> tuple[str, ...] | None:
    """Return the paths of the scripts that are not what they were; None where it is another campaign.

    Args:
        stated: what `state_campaign` returned before; of a program that kept no digests, every script counts
            as changed, because nobody knows.
        campaign: as it is now.
    """
    before: dict[str, str] = {}
    rest = []
    for line in stated.splitlines(keepends=True):
        if line.startswith(_BEGIN):
            digest, _, path = line.removeprefix(_BEGIN).rstrip("\n").partition(" ")
            before[path] = digest
        else:
            rest.append(line)
    if "".join(rest) != format_campaign(campaign):
        return None
    return tuple(path for path, digest in sorted(_digests(campaign).items()) if before.get(path) != digest)


def _digests(campaign: Campaign) -> dict[str, str]:
    scripts = (script for each in campaign.configurations for script in each.workload.scripts)
    return {
        script.path: hashlib.sha256(script.text.encode("utf-8", "surrogatepass")).hexdigest()
        for script in scripts
        if script.path is not None
    }
