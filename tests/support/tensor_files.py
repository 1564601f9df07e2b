"""Files of tensors: what the tests of their formats share."""

from pathlib import Path

import numpy as np
import pytest

from sam.io import read
from sam.support.errors import UserError

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
# The matrix of the SAM paper's Figure 1.
FIGURE = np.array([[0, 1, 0, 0], [2, 0, 3, 0], [0, 0, 0, 0], [0, 4, 0, 5]], float)
GENERAL = "%%MatrixMarket matrix coordinate real general\n"


def refused(path, **options):
    """The error that reading raises, with the file's bare name in it."""
    with pytest.raises(UserError) as error:
        read(path, **options)
    return str(error.value).replace(str(path), path.name)
