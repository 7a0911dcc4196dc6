"""What runs as root: the system service org.pgfooting.Helper1.

Imports the standard library, app.domain, app.storage and app.dbus only. Identifiers and typed values come in,
never a path, a command or a text that a program is told. Default is refusal.
"""
