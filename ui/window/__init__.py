"""The main window: start page, library, charts of saved runs, facts, and the line of a running campaign.

Views contain only widgets and bindings; `app` computes their contents and `ui.background` delivers them.
Texts from run files are not trusted: they are shown as plain text everywhere.
"""
