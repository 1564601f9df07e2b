"""Sweeps: many points, measured by processes, a result file for each, tables and plots."""
