"""Import others' results as run files: pgbench's output and logs, folders of other benchmarks, CSV.

The results become ordinary run files, marked ``imported``; missing values are reported, nothing is invented.
All input is foreign: bounded in size and memory, never executed, never unpacked to disk.
"""
