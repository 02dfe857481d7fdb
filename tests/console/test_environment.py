"""The environment is read strictly: a wrong word stops the start, and production refuses what is not safe."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from console import environment

KEY = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
FERNET = "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI="
PRODUCTION = {"LIFECYCLE_URL": "https://console.example", "LIFECYCLE_SECRET_KEY": KEY}


def read(tmp_path: Path, **given: str) -> environment.Environment:
    return environment.read({"LIFECYCLE_DATA": str(tmp_path), "HOME": "/", **given})


def test_nothing_given_is_a_local_console(tmp_path: Path) -> None:
    chosen = read(tmp_path)
    assert chosen.profile == "local"
    assert chosen.hosts == environment.LOOPBACK
    assert chosen.origins == ()
    assert chosen.log == "console"


def test_keys_of_credentials_come_newest_first_and_are_in_no_error(tmp_path: Path) -> None:
    assert read(tmp_path).credential_keys == ()
    newer = FERNET.replace("Q", "R", 1)
    assert read(tmp_path, LIFECYCLE_CREDENTIAL_KEYS=f"{newer}, {FERNET}").credential_keys == (newer, FERNET)
    with pytest.raises(ImproperlyConfigured) as refusal:
        read(tmp_path, LIFECYCLE_CREDENTIAL_KEYS=f"{FERNET},{newer}x")
    assert newer not in str(refusal.value)


def test_a_public_https_address_is_production(tmp_path: Path) -> None:
    chosen = read(tmp_path, **PRODUCTION)
    assert chosen.profile == "production"
    assert chosen.hosts == ("console.example",)
    assert chosen.origins == ("https://console.example",)
    assert chosen.log == "json"


@pytest.mark.parametrize("name", ["LIFECYCLE_DTAA", "LIFECYCLE_", "LIFECYCLE_DEBUG"])
def test_a_name_that_nothing_reads_stops_the_start(tmp_path: Path, name: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=name):
        read(tmp_path, **{name: "1"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LIFECYCLE_PROFILE", "prod"),
        ("LIFECYCLE_URL", "console.example"),
        ("LIFECYCLE_URL", "https://console.example/path"),
        ("LIFECYCLE_URL", "https://u:p@console.example"),
        ("LIFECYCLE_URL", "https://*.example"),
        ("LIFECYCLE_URL", "https://x:99999"),
        ("LIFECYCLE_HOSTS", "*"),
        ("LIFECYCLE_HOSTS", ".example"),
        ("LIFECYCLE_HOSTS", "http://x"),
        ("LIFECYCLE_ORIGINS", "x.example"),
        ("LIFECYCLE_ORIGINS", "null"),
        ("LIFECYCLE_HTTP_ORIGINS", "file:///etc"),
        ("LIFECYCLE_REDIS_URL", "localhost:6379"),
        ("LIFECYCLE_CREDENTIAL_KEYS", "short"),
        ("LIFECYCLE_CREDENTIAL_KEYS", f"{FERNET},{FERNET[:-1]}"),
        ("LIFECYCLE_WORKERS", "0"),
        ("LIFECYCLE_WORKERS", "many"),
        ("LIFECYCLE_WORKERS", "-1"),
        ("LIFECYCLE_VALUE_BYTES", "1"),
        ("LIFECYCLE_PROXIES", "99"),
        ("LIFECYCLE_LOG", "xml"),
        ("LIFECYCLE_WORKSPACES", "{"),
        ("LIFECYCLE_WORKSPACES", "[]"),
        ("LIFECYCLE_WORKSPACES", '{"a": 1}'),
        ("LIFECYCLE_WORKSPACES", '{"../a": "/tmp"}'),
    ],
)
def test_a_value_that_makes_no_sense_stops_the_start(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(ImproperlyConfigured):
        read(tmp_path, **{name: value})


@pytest.mark.parametrize(
    "change",
    [
        {"LIFECYCLE_SECRET_KEY": ""},
        {"LIFECYCLE_SECRET_KEY": "short"},
        {"LIFECYCLE_SECRET_KEY": "a" * 60},
        {"LIFECYCLE_SECRET_KEY": "django-insecure-" + KEY},
        {"LIFECYCLE_ORIGINS": "http://console.example"},
        {"LIFECYCLE_PROFILE": "local"},
        {"LIFECYCLE_URL": "http://console.example", "LIFECYCLE_PROFILE": "production"},
        {"LIFECYCLE_URL": "", "LIFECYCLE_PROFILE": "production"},
    ],
)
def test_production_refuses_what_is_not_safe(tmp_path: Path, change: dict[str, str]) -> None:
    read(tmp_path, **PRODUCTION)
    with pytest.raises(ImproperlyConfigured):
        read(tmp_path, **{**PRODUCTION, **change})


def test_an_origin_has_one_spelling(tmp_path: Path) -> None:
    chosen = read(tmp_path, LIFECYCLE_ORIGINS="HTTPS://Console.Example:443/, http://[::1]:8000")
    assert chosen.origins == ("https://console.example", "http://[::1]:8000")


def test_workspaces_come_from_the_data_folder_its_file_and_the_environment(tmp_path: Path) -> None:
    (tmp_path / "workspaces" / "demo").mkdir(parents=True)
    (tmp_path / environment.FILE).write_text(
        'http_origins = ["http://x.example"]\n[workspaces]\nnotes = "notes"\n'
    )
    from_file = read(tmp_path)
    assert dict(from_file.workspaces) == {
        "demo": tmp_path / "workspaces" / "demo",
        "notes": tmp_path / "notes",
    }
    assert from_file.http_origins == {"http://x.example"}
    named = read(tmp_path, LIFECYCLE_WORKSPACES='{"other": "/srv/other"}')
    assert dict(named.workspaces) == {"demo": tmp_path / "workspaces" / "demo", "other": Path("/srv/other")}


@pytest.mark.parametrize("text", ["nonsense = 1", "workspaces = 3", "= ", 'http_origins = "x"'])
def test_a_file_that_makes_no_sense_stops_the_start(tmp_path: Path, text: str) -> None:
    (tmp_path / environment.FILE).write_text(text)
    with pytest.raises(ImproperlyConfigured):
        read(tmp_path)
