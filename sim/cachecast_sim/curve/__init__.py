"""Hit ratio at every capacity and every lifetime, from one pass over a log's token blocks.

Import its modules where they are needed: the kernels bring numba, which takes half a second.
"""
