"""Services that run PostgreSQL for others, by the parameters that only their servers have. Pure.

Sources: docs.aws.amazon.com/AmazonRDS ("Working with parameters on your RDS for PostgreSQL DB instance":
rds.extensions, rds.force_ssl; Aurora has the same ones); cloud.google.com/sql/docs/postgres/flags
(cloudsql.iam_authentication, cloudsql.logical_decoding) and /alloydb/docs/reference/database-flags
(alloydb.iam_authentication); learn.microsoft.com/azure/postgresql/flexible-server ("Server parameters":
azure.extensions, azure.accepted_password_auth_method); github.com/neondatabase/neon (neon.tenant_id);
github.com/supabase/supautils (supautils.*).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

SERVICES: Final = {
    "rds": "Amazon RDS or Aurora",
    "alloydb": "Google AlloyDB",
    "cloudsql": "Google Cloud SQL",
    "azure": "Azure Database for PostgreSQL",
    "neon": "Neon",
    "supautils": "Supabase",
}
"""By the word before the dot of a parameter; the first of several, as AlloyDB may have Cloud SQL's."""


def managed_service(words: Collection[str]) -> str:
    """Return which service it is; empty for none that is known.

    Args:
        words: those before the dot of the server's parameters.
    """
    return next((name for word, name in SERVICES.items() if word in words), "")
