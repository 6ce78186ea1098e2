"""One method for each route, the same in both clients."""

from __future__ import annotations

import inspect
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import rota
from rota.api import operations
from rota.errors import InvalidInput
from rota.schedules import names
from rota.schedules.definition import Definition
from rota.sdk.client.base import Base
from rota.sdk.client.bulk import Bulk
from rota.sdk.client.call import REQUEST_KEY, Call, Listing
from rota.sdk.client.routes import (
    administering,
    calendars,
    runs,
    schedules,
    secrets,
    watching,
)
from rota.sdk.client.schedules import Schedule, ScheduleFields

if TYPE_CHECKING:
    from collections.abc import Callable

MODULES = (administering, calendars, runs, schedules, secrets, watching)
SAMPLE = "SAMPLE"
OWN = {"send", "close", "aclose", "url"}


def _routes() -> dict[str, Callable[..., Any]]:
    """Every function of the routes' modules that builds something to send."""
    return {
        name: each
        for module in MODULES
        for name, each in inspect.getmembers(module, inspect.isfunction)
        if each.__module__ == module.__name__ and not name.startswith("_")
    }


def _built(route: Callable[..., Any]) -> Call[Any]:
    """A call of the route, with the same word for everything that must be given."""
    args: list[Any] = []
    more: dict[str, Any] = {}
    for name, each in inspect.signature(route).parameters.items():
        if each.default is not each.empty or each.kind is each.VAR_KEYWORD:
            continue
        value = [{"name": SAMPLE}] if name == "schedules" else SAMPLE
        if each.kind is each.KEYWORD_ONLY:
            more[name] = value
        else:
            args.append(value)
    made: Call[Any] | Listing[Any] | Bulk = route(*args, **more)
    match made:
        case Bulk():
            return next(made.calls())
        case Listing():
            return made.first
        case Call():
            return made


CALLS = {name: _built(route) for name, route in _routes().items()}
OPERATIONS = {
    (each.method.upper(), re.sub(r"\{\w+\}", SAMPLE, each.path)): each for each in operations.ALL
}


def _methods(kind: type) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(each)
        for name, each in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and name not in OWN
    }


def test_every_operation_of_the_api_has_a_route_and_every_route_is_one() -> None:
    """One method per route. Whoever adds an operation adds it to both clients."""
    assert {(each.method, each.path) for each in CALLS.values()} == set(OPERATIONS)
    assert len(CALLS) == len(operations.ALL)


def test_every_route_is_a_method_of_both_clients() -> None:
    built = {route.__name__ for route in _routes().values()}
    for kind in (rota.Client, rota.AsyncClient):
        methods = inspect.getmembers(kind, inspect.isfunction)
        assert {each.__name__ for name, each in methods if name in _methods(kind)} == built


def test_both_clients_have_the_same_methods_with_the_same_parameters_and_answers() -> None:
    sync, awaited = _methods(rota.Client), _methods(rota.AsyncClient)
    assert sync.keys() == awaited.keys()
    for name, signature in sync.items():
        assert signature.parameters == awaited[name].parameters, name
        answer = str(awaited[name].return_annotation).replace("AsyncItems[", "Items[")
        assert str(signature.return_annotation) == answer, name


def test_what_is_awaited_is_a_coroutine_and_lists_are_not() -> None:
    for name, signature in _methods(rota.AsyncClient).items():
        is_list = "AsyncItems[" in str(signature.return_annotation)
        method = getattr(rota.AsyncClient, name)
        assert inspect.iscoroutinefunction(method) is not is_list, name


def test_both_clients_are_made_alike() -> None:
    sync, awaited = (
        inspect.signature(kind.__init__).parameters for kind in (rota.Client, rota.AsyncClient)
    )
    assert list(sync) == list(awaited)
    assert issubclass(rota.Client, Base)


def test_help_says_what_the_route_says() -> None:
    method = rota.Client.get_schedule
    assert list(inspect.signature(method).parameters) == ["self", "schedule"]
    assert str(inspect.signature(rota.Client.firings).return_annotation).startswith("Items[")
    assert method.__doc__ == "One schedule, by its id."


@pytest.mark.parametrize("name", CALLS)
def test_what_is_safe_to_repeat_is_what_the_api_says_is(name: str) -> None:
    """A POST is repeated only with an Idempotency-Key, which goes where it is understood."""
    call = CALLS[name]
    operation = OPERATIONS[call.method, call.path]
    assert (REQUEST_KEY in call.headers) is (REQUEST_KEY in operation.headers)
    repeatable = call.method in ("GET", "PUT", "DELETE") or REQUEST_KEY in call.headers
    assert call.is_safe is repeatable
    assert call.has_key is (operation.scope is not None)


def test_every_query_parameter_of_the_api_is_a_parameter() -> None:
    renamed = {"limit": "page_size", "at": "slot", "schedule_id": "schedule", "open": "is_open"}
    for name, route in _routes().items():
        operation = OPERATIONS[CALLS[name].method, CALLS[name].path]
        wanted = {renamed.get(each, each) for each in operation.query if each != "cursor"}
        assert wanted <= inspect.signature(route).parameters.keys(), name


def test_a_schedule_has_every_field_that_the_api_has() -> None:
    assert set(Definition.__struct_fields__) <= set(Schedule.__struct_fields__)
    assert set(names.READ_ONLY) <= set(Schedule.__struct_fields__)
    assert set(ScheduleFields.__annotations__) == names.FIELDS


def test_each_call_has_a_request_key_of_its_own_unless_it_is_given() -> None:
    one, two = (schedules.pause("sch_1").headers[REQUEST_KEY] for _ in range(2))
    assert one != two
    assert len(one) == 26
    assert schedules.pause("sch_1", request_key="mine").headers[REQUEST_KEY] == "mine"


def test_fields_come_as_a_mapping_as_keywords_or_both() -> None:
    call = schedules.create_schedule({"name": "a", "tags": ["x"]}, name="b")
    assert msgspec.json.decode(call.body or b"") == {"name": "b", "tags": ["x"]}


def test_instants_and_lengths_are_written_as_the_api_reads_them() -> None:
    call = schedules.create_schedule(
        run_at=datetime(2027, 1, 1, tzinfo=UTC), misfire_grace=timedelta(minutes=5)
    )
    fields = msgspec.json.decode(call.body or b"")
    assert fields == {"run_at": "2027-01-01T00:00:00Z", "misfire_grace": "PT300S"}
    slot = datetime(2027, 1, 1, tzinfo=UTC)
    assert schedules.why("sch_1", slot).query == {"at": "2027-01-01T00:00:00+00:00"}


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("a/b", "/v1/schedules/by-key/a%2Fb"),
        ("*/5 100% ?x=1#", "/v1/schedules/by-key/%2A%2F5%20100%25%20%3Fx%3D1%23"),
        ("ключ", "/v1/schedules/by-key/%D0%BA%D0%BB%D1%8E%D1%87"),
    ],
)
def test_a_key_is_one_part_of_the_path_whatever_is_in_it(key: str, path: str) -> None:
    assert schedules.put_schedule(key, name="x").path == path


def test_an_empty_id_is_refused_as_it_would_name_the_whole_list() -> None:
    with pytest.raises(InvalidInput, match="empty"):
        schedules.delete_schedule("")


def test_what_cannot_be_sent_is_refused_with_a_sentence() -> None:
    with pytest.raises(InvalidInput, match="JSON"):
        schedules.create_schedule({"payload": object()})
    with pytest.raises(InvalidInput, match="visible"):
        schedules.pause("sch_1", request_key="a\nb")


def test_a_version_or_its_tag_guards_an_edit_which_is_then_not_repeated() -> None:
    for version in (3, '"v3"'):
        for call in (
            schedules.put_schedule("k", if_version=version),
            schedules.update_schedule("sch_1", if_version=version),
            schedules.delete_schedule("sch_1", if_version=version),
        ):
            assert call.headers == {"If-Match": '"v3"'}
            assert not call.is_safe


def test_what_is_secret_does_not_show_in_a_call() -> None:
    assert "hush" not in repr(secrets.put_secret("name", "hush"))
    assert "hush" not in repr(runs.complete("fir_1", token="hush"))
