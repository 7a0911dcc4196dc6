"""The data set of a run: loaded in place, or copied from a template that is created once.

If templates cannot be kept, every run of the campaign loads its data, the same for all configurations, and
the reason is reported.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from app.analysis.data_set import CopiedCaches
from app.domain.campaign.configuration import Caches, DataSet, DiskTarget
from app.domain.errors import FootingError, ServerError
from app.domain.text import tr
from app.execution.resolve import ResolvedCampaign, ResolvedConfiguration
from app.hosts.folders.own_folders import create_templates_folder
from app.hosts.recovery.resource_journal import ResourceJournal
from app.hosts.server_under_test import ServerUnderTest
from app.hosts.templates.making import CopiedData, DataSetOrder, TemplateMaker
from app.hosts.templates.store import Template, TemplateStore, why_no_room, why_not_beside
from app.hosts.templates.tree import DamagedTemplateError
from app.postgres.pgbench.script_demands import wants_superuser
from app.postgres.pgbench.summary import LoadTimes
from app.probes.facts.files import StoredBytes
from app.process.starter import Account, Recorder
from app.recording.events import CampaignListener
from app.runfile.metadata.run_metadata import DataSetMetadata


@dataclass(slots=True)
class CampaignDataSets:
    """Whether the data sets of a campaign are copied.

    Attributes:
        account: owner of the templates; server and pgbench run as it.
        resources: record of everything that could be left behind.
        refused: why they are loaded although copies were wanted; empty if they are copied.
    """

    account: Account
    resources: ResourceJournal
    refused: str = ""
    _folder: str = field(default="", init=False)

    def begin(self, resolved: ResolvedCampaign) -> None:
        """Create the folder of templates; set `refused` on failure, or if it shares storage with a target."""
        try:
            self._folder = create_templates_folder(self.account)
            reasons = [why_not_beside(self._folder, each.target) for each in resolved.configurations.values()]
            self.refused = next(filter(None, reasons), "")
        except (OSError, FootingError) as error:
            self.refused = str(error)

    def template(
        self, resolved: ResolvedConfiguration, record: Recorder, notes: list[str]
    ) -> Template | None:
        """Return the template of a configuration, created if missing; None if it cannot be created.

        Then all later runs load their data.

        Args:
            resolved: the configuration.
            record: called with every command.
            notes: gets a sentence about the new template.
        """
        if self.refused:
            return None
        store = TemplateStore(self._folder, self.account, record)
        try:
            order = order_of(resolved)
            key = order.key()
            with store.locked() as is_ours:
                found = store.find(key)
                if found is not None:
                    return found
                self.refused = self._obstacle(order, is_ours=is_ours)
                if not self.refused:
                    maker = TemplateMaker(store, self.account, self.resources, record)
                    return self._made(maker.make(order, key), notes)
        except (OSError, FootingError) as error:
            sentence = tr("Could not create a template in {folder}: {reason}")
            self.refused = sentence.format(folder=self._folder, reason=error)
        return None

    def _obstacle(self, order: DataSetOrder, *, is_ours: bool) -> str:
        if not is_ours:
            return tr("Another campaign is creating a template in {folder}.").format(folder=self._folder)
        return why_no_room(self._folder, order.data_bytes)

    @staticmethod
    def _made(template: Template, notes: list[str]) -> Template:
        sentence = tr("The data set was created in {seconds:.0f} s and is kept in {folder} for other runs.")
        notes.append(sentence.format(seconds=template.seconds, folder=template.folder))
        return template

    def forget(self, template: Template, record: Recorder) -> None:
        """Remove a damaged template.

        Raises:
            OSError: it cannot be removed.
            FootingError: it cannot be removed.
        """
        TemplateStore(self._folder, self.account, record).remove(template.folder)


def begin_data_sets(
    resolved: ResolvedCampaign, account: Account, resources: ResourceJournal, listener: CampaignListener
) -> CampaignDataSets | None:
    """Return how the data sets of a campaign are copied; None if it wants them loaded.

    An obstacle to copying them is reported.
    """
    wanted = {each.configuration.workload.data_set for each in resolved.configurations.values()}
    if wanted != {DataSet.COPIED}:
        return None
    found = CampaignDataSets(account, resources)
    found.begin(resolved)
    if found.refused:
        listener.reported(
            "note", tr("The data is loaded for every run: {reason}").format(reason=found.refused)
        )
    return found


def order_of(resolved: ResolvedConfiguration) -> DataSetOrder:
    """Return the data set of a configuration."""
    workload = resolved.configuration.workload
    return DataSetOrder(
        installation=resolved.installation,
        checksums=resolved.configuration.postgresql.checksums,
        scale=resolved.scale.scale,
        compressibility=workload.compressibility,
        superuser=wants_superuser(workload.scripts),
        data_bytes=resolved.scale.data_bytes,
    )


def with_tables(data_set: DataSetMetadata, found: StoredBytes) -> DataSetMetadata:
    """Return a run file's description of a data set, with the layout of its tables on the storage."""
    return replace(
        data_set,
        extents=found.extents,
        tables_bytes=found.logical_bytes,
        tables_disk_bytes=found.disk_bytes,
        tables_encoded_bytes=found.encoded_bytes,
    )


@dataclass(slots=True)
class RunDataSet:
    """The data set of one run.

    Attributes:
        server: receives it.
        resolved: the run's configuration.
        record: called with every command.
        copies: of the campaign; None if it loads.
        notes: sentences about events, which the caller that runs this in the background reports and empties.
    """

    server: ServerUnderTest
    resolved: ResolvedConfiguration
    record: Recorder
    copies: CampaignDataSets | None = None
    notes: list[str] = field(default_factory=list)
    _template: Template | None = field(default=None, init=False)
    _copied: CopiedData | None = field(default=None, init=False)

    @property
    def is_copied(self) -> bool:
        """Whether a template is copied; valid after `make`."""
        return self._template is not None

    def make(self) -> None:
        """Get a template, or create the server's data directory; phase `initdb`, in a separate thread."""
        if self.copies is not None:
            was_refused = self.copies.refused
            self._template = self.copies.template(self.resolved, self.record, self.notes)
            if self.copies.refused != was_refused:
                self.notes.append(
                    tr("The data is loaded for every run: {reason}").format(reason=self.copies.refused)
                )
        if self._template is None:
            self.server.make()

    def copy(self) -> None:
        """Copy the template; phase `load`, in a separate thread. A damaged one is created again, once.

        Raises:
            ServerError: it is damaged again.
            FootingError: it cannot be copied.
        """
        assert self._template is not None  # noqa: S101 - `is_copied` was asked
        try:
            self._copied = self.server.copy_data(self._template)
        except DamagedTemplateError as damage:
            self._copied = self._once_more(self._template, damage)

    def _once_more(self, template: Template, damage: DamagedTemplateError) -> CopiedData:
        sentence = tr("The template {folder} is damaged ({reason}). It is removed and created again.")
        self.notes.append(sentence.format(folder=template.folder, reason=damage))
        assert self.copies is not None  # noqa: S101 - a template is of them
        try:
            self.copies.forget(template, self.record)
            made = self.copies.template(self.resolved, self.record, self.notes)
            if made is not None:
                return self.server.copy_data(made)
            reason = self.copies.refused
        except (DamagedTemplateError, OSError) as error:
            reason = str(error)
        message = tr("The template {folder} is damaged and could not be recreated: {reason}")
        raise ServerError(message.format(folder=template.folder, reason=reason))

    def describe(self, took: LoadTimes) -> DataSetMetadata:
        """Return the run file's description of it.

        Args:
            took: times of loading; empty if it was copied.
        """
        copied = self._copied
        if copied is None:
            return DataSetMetadata(
                state=DataSet.LOADED.value,
                reason="" if self.copies is None else self.copies.refused,
                rows_s=took.rows_s,
                vacuum_s=took.vacuum_s,
                index_s=took.index_s,
            )
        content = copied.template.content
        return DataSetMetadata(
            state=DataSet.COPIED.value,
            caches=self._caches().value,
            template=copied.template.key.id,
            sha256=content.sha256,
            files=content.files,
            size_bytes=content.size_bytes,
            copy_s=copied.seconds,
        )

    def _caches(self) -> CopiedCaches:
        item = self.resolved.configuration
        is_limited = isinstance(item.target, DiskTarget) and item.target.memory_limit_bytes is not None
        is_emptied = item.workload.caches is Caches.COLD or is_limited
        return CopiedCaches.EMPTIED if is_emptied else CopiedCaches.FILLED
