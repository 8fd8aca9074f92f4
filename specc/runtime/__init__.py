"""Executes the printed text: starts ranks, trains, shows progress, explains what the machine lacks.

The package imports nothing by itself, so that `doctor` works where torch cannot be imported.
"""
