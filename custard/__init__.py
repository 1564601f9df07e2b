"""Custard: from tensor expressions, formats and schedules to programs."""
