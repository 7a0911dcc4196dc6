"""The root part: the system service org.pgfooting.Helper1.

Imports the standard library, app.domain, app.storage and app.dbus only. Its input is identifiers and typed
values, never a path, a command or a text passed to a program. Default is refusal.
"""
