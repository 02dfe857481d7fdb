"""The journal alone, for tests that need no console."""

import os
from pathlib import Path

from lifecycle_core.journal import databases

SECRET_KEY = "only-for-tests"
USE_TZ = True
INSTALLED_APPS = ["lifecycle_core.journal"]
URL = os.environ.get("LIFECYCLE_DATABASE_URL")
DATABASES = {
    "default": databases.postgres(URL)
    if URL
    else databases.sqlite(Path(os.environ["LIFECYCLE_DATA"]) / "console.sqlite3")
}
