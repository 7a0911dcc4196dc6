"""The main window: start page, library, charts of saved runs, facts, and the line of a running campaign.

Views hold widgets and bindings only; what they show is worked out in `app` and delivered by `ui.background`.
Texts that come from run files are foreign: they are shown as plain text everywhere.
"""
