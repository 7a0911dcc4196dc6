"""The workload of a run of others, from what pgbench printed."""

from __future__ import annotations

from typing import Final

from app.domain.campaign.configuration import BuiltinScript
from app.postgres.pgbench.summary import PgbenchSummary
from app.runfile.metadata.run_metadata import ScriptMetadata, WorkloadMetadata
from app.runfile.metadata.typed_json import if_told

_BUILTINS: Final = {
    "<builtin: TPC-B (sort of)>": BuiltinScript.TPCB_LIKE.value,
    "TPC-B (sort of)": BuiltinScript.TPCB_LIKE.value,
    "<builtin: simple update>": BuiltinScript.SIMPLE_UPDATE.value,
    "Update only pgbench_accounts": BuiltinScript.SIMPLE_UPDATE.value,
    "<builtin: select only>": BuiltinScript.SELECT_ONLY.value,
    "SELECT only": BuiltinScript.SELECT_ONLY.value,
}
"""What pgbench calls its scripts (builtin_script[] of pgbench.c; the last of each pair before 9.6)."""


def label_of(transaction_type: str) -> str:
    """Return the label of a script as this program has it; of a file its name."""
    return _BUILTINS.get(transaction_type) or transaction_type.rpartition("/")[2]


def workload_of(summary: PgbenchSummary) -> WorkloadMetadata:
    """Return what is known of a workload; what pgbench does not print is not."""
    scripts = [(label_of(each.title), each.weight) for each in summary.scripts]
    scripts = scripts or [(label_of(summary.transaction_type), 1)]
    return WorkloadMetadata(
        label=" + ".join(label for label, _ in scripts),
        scripts=tuple(ScriptMetadata(label=label, weight=weight) for label, weight in scripts),
        clients=if_told(summary.clients),
        threads=if_told(summary.threads),
        duration_s=summary.duration_s,
        transactions=summary.transactions_per_client,
        protocol=if_told(summary.protocol or None),
    )
