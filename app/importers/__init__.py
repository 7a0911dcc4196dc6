"""Results of others as run files: what pgbench printed and logged by hand, folders of other benchmarks, CSV.

What was found becomes ordinary run files, marked ``imported``; what is missing is said, nothing is invented.
Everything read here is foreign: bounded in size and memory, never executed, never unpacked to disk.
"""
