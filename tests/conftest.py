"""Loads the profile of hypothesis before any test is read."""

from hypothesis import settings

from tests.profiles import PROFILE

settings.load_profile(PROFILE)
