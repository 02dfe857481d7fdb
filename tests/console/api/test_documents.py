"""The description of the API is complete and its page needs nothing from elsewhere."""

import re

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from console.api.urls import api
from tests.console.api.test_matrix import MATRIX

SCHEMA = api.get_openapi_schema()
POSTS = [path for method, path in MATRIX if method == "POST"]
# They store nothing: asking again only computes again.
COMPUTE = {"dispatches", "workspaces/{workspace}/capabilities"}


def documented(path: str) -> str:
    return "/api/v1/" + re.sub(r"\{\w+:", "{", path)


def test_it_is_openapi_3_1() -> None:
    assert Client().get("/api/v1/openapi.json").json()["openapi"].startswith("3.1")


def test_every_operation_is_described() -> None:
    described = {(method.upper(), path) for path, methods in SCHEMA["paths"].items() for method in methods}
    assert described == {(method, documented(path)) for method, path in MATRIX}


def test_every_operation_asks_for_a_token_or_a_session() -> None:
    for methods in SCHEMA["paths"].values():
        for operation in methods.values():
            assert operation["security"] == [{"Bearer": []}, {"Session": []}]


@pytest.mark.parametrize("path", sorted(set(POSTS) - COMPUTE))
def test_every_post_takes_an_idempotency_key(path: str) -> None:
    parameters = SCHEMA["paths"][documented(path)]["post"]["parameters"]
    assert "Idempotency-Key" in [parameter["name"] for parameter in parameters]


@pytest.mark.parametrize("path", POSTS)
def test_every_body_refuses_what_it_does_not_name(path: str) -> None:
    body = SCHEMA["paths"][documented(path)]["post"]["requestBody"]["content"]["application/json"]["schema"]
    reference = body.get("$ref") or body["allOf"][0]["$ref"]
    assert SCHEMA["components"]["schemas"][reference.rpartition("/")[2]]["additionalProperties"] is False


def test_the_page_loads_nothing_from_elsewhere_and_runs_nothing_inline() -> None:
    page = Client().get("/api/v1/docs").content.decode()
    for source in re.findall(r"(?:src|href)=\"([^\"]+)\"", page):
        assert source.startswith("/static/ninja/")
        assert finders.find(source.removeprefix("/static/"))
    scripts = re.findall(r"<script([^>]*)>", page)
    assert all("src=" in script or "application/json" in script for script in scripts)
    assert "style=" not in page
