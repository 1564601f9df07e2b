"""Before any test is read: every run is validated, and hypothesis has its profile."""

import os

from hypothesis import settings

from tests.support.profiles import PROFILE

os.environ["SAM_VALIDATE"] = "1"
settings.load_profile(PROFILE)
