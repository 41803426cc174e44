"""The SimPy worlds in which requests meet caches."""
