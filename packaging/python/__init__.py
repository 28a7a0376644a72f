"""The program `kitbag`, as a Python package."""
