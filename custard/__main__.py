"""``python -m custard`` is the command ``custard``."""

import sys

from custard.cli.command import main

sys.exit(main())
