"""Sweeps: many points, a process and a result file for each, tables and plots."""
