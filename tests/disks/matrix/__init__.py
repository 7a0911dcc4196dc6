"""What happened to a disk meanwhile, and when: every combination is brought about and judged.

`kinds` is what happens, `moments` is when, `trial` brings both together and judges, `helper` runs root's own
code in a process that can be killed. ``python -m tests.disks.matrix`` runs them all and may be resumed.
"""
