"""The bus and the recorder."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from datetime import timedelta

import pytest

from rota.events import Bus, Event, HandlerFailed, Recorder


@dataclass(frozen=True, slots=True, kw_only=True)
class Fruit(Event):
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Apple(Fruit):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Stone(Event):
    pass


APPLE = Apple(name="Cox")


def _fail(event: Event) -> None:
    raise RuntimeError(f"cannot take {type(event).__name__}")


def test_a_handler_hears_its_type_and_subtypes_and_nothing_else() -> None:
    bus = Bus()
    heard: list[Event] = []
    bus.subscribe(Fruit, heard.append)
    for event in (APPLE, Stone(), Fruit(name="fig")):
        bus.publish(event)
    assert heard == [APPLE, Fruit(name="fig")]


def test_publishing_to_nobody_is_fine() -> None:
    Bus().publish(APPLE)


def test_handlers_are_called_in_the_order_they_subscribed() -> None:
    bus = Bus()
    order: list[int] = []
    for number in range(3):
        bus.subscribe(Event, lambda _, number=number: order.append(number))
    bus.publish(APPLE)
    assert order == [0, 1, 2]


def test_one_handler_subscribed_twice_hears_twice_until_each_is_ended() -> None:
    bus = Bus()
    heard: list[Event] = []
    first = bus.subscribe(Apple, heard.append)
    second = bus.subscribe(Apple, heard.append)
    bus.publish(APPLE)
    first()
    first()
    bus.publish(APPLE)
    second()
    bus.publish(APPLE)
    assert len(heard) == 3


def test_a_subscription_made_while_publishing_starts_with_the_next_event() -> None:
    bus = Bus()
    heard: list[Event] = []

    def join(_: Apple) -> None:
        unsubscribe()
        bus.subscribe(Apple, heard.append)

    unsubscribe = bus.subscribe(Apple, join)
    bus.publish(APPLE)
    assert heard == []
    bus.publish(APPLE)
    assert heard == [APPLE]


def test_a_failing_handler_harms_nobody_and_is_published() -> None:
    bus = Bus()
    heard: list[Event] = []
    bus.subscribe(Apple, _fail)
    bus.subscribe(Apple, heard.append)
    recorder = Recorder(bus)
    bus.publish(APPLE)
    assert heard == [APPLE]
    (failed,) = recorder.all(HandlerFailed)
    assert failed.event is APPLE
    assert failed.handler == "_fail"
    assert str(failed.error) == "cannot take Apple"


def test_a_handler_that_fails_on_everything_is_told_once_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bus = Bus()
    bus.subscribe(Event, _fail)
    recorder = Recorder(bus)
    bus.publish(APPLE)
    assert len(recorder.all(HandlerFailed)) == 1
    assert "event handler _fail failed on HandlerFailed" in caplog.text


def test_a_failure_that_nobody_listens_for_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    bus = Bus()
    bus.subscribe(Apple, _fail)
    bus.publish(APPLE)
    assert "event handler _fail failed on Apple" in caplog.text
    assert "cannot take Apple" in caplog.text


def test_an_interrupt_is_not_a_handlers_failure() -> None:
    bus = Bus()

    def interrupt(_: Apple) -> None:
        raise KeyboardInterrupt

    bus.subscribe(Apple, interrupt)
    with pytest.raises(KeyboardInterrupt):
        bus.publish(APPLE)


async def test_the_recorder_finds_what_was_published_before() -> None:
    bus = Bus()
    recorder = Recorder(bus)
    bus.publish(APPLE)
    assert await recorder.wait_for(Fruit) is APPLE


async def test_the_recorder_waits_for_the_event_that_fits() -> None:
    bus = Bus()
    recorder = Recorder(bus)
    waiting = asyncio.create_task(recorder.wait_for(Fruit, where=lambda f: f.name == "fig"))
    for event in (APPLE, Stone(), Fruit(name="fig")):
        await asyncio.wait([waiting], timeout=0)
        bus.publish(event)
    assert await waiting == Fruit(name="fig")


async def test_the_recorder_hears_other_threads() -> None:
    bus = Bus()
    recorder = Recorder(bus)
    waiting = asyncio.create_task(recorder.wait_for(Apple))
    await asyncio.wait([waiting], timeout=0)
    thread = threading.Thread(target=bus.publish, args=(APPLE,))
    thread.start()
    assert await waiting is APPLE
    thread.join()


async def test_waiting_in_vain_says_what_was_heard() -> None:
    bus = Bus()
    recorder = Recorder(bus)
    for event in (APPLE, APPLE, Fruit(name="fig")):
        bus.publish(event)
    with pytest.raises(TimeoutError) as raised:
        await recorder.wait_for(Stone, timeout=timedelta(milliseconds=1))
    assert str(raised.value) == "expected a Stone within 0.001 s, heard 2 Apple, 1 Fruit"


async def test_a_closed_recorder_hears_no_more() -> None:
    bus = Bus()
    recorder = Recorder(bus)
    recorder.close()
    bus.publish(APPLE)
    assert recorder.all(Event) == []


def test_a_bus_knows_whether_anybody_listens_to_a_kind_or_to_some_of_it() -> None:
    class Broad(Event):
        pass

    class Narrow(Broad):
        pass

    class Other(Event):
        pass

    bus = Bus()
    assert not bus.hears(Broad)
    stop = bus.subscribe(Narrow, lambda _: None)
    assert bus.hears(Narrow)
    assert bus.hears(Broad)
    assert not bus.hears(Other)
    stop()
    assert not bus.hears(Narrow)
    bus.subscribe(Event, lambda _: None)
    assert bus.hears(Other)


def test_a_listener_may_leave_out_what_happens_too_often() -> None:
    class Often(Event):
        pass

    class Seldom(Event):
        pass

    bus = Bus()
    heard: list[Event] = []
    bus.subscribe(Event, heard.append, unless=lambda kind: kind is Often)
    assert not bus.hears(Often)
    bus.publish(Often())
    bus.publish(Seldom())
    assert [type(event) for event in heard] == [Seldom]
