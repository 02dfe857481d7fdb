"""Give the tests a data folder of their own before settings are loaded (always on: see addopts).

Every process, and so every xdist worker, gets a folder that no other has: the SQLite file in it is the test
database.
"""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

for name in [name for name in os.environ if name.startswith("LIFECYCLE_")]:
    del os.environ[name]

DATA = Path(tempfile.mkdtemp(prefix="lifecycle-tests-"))
atexit.register(shutil.rmtree, DATA, ignore_errors=True)
os.environ["LIFECYCLE_DATA"] = str(DATA)
