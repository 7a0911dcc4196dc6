"""The live page: a running measurement, or a recorded run replayed as if it were one."""
