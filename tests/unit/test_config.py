"""The configuration: precedence, messages, secrets, and any junk whatever."""

from __future__ import annotations

import os
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rota.config import Config, load, read, settings
from rota.config.kinds import Kind, duration
from rota.config.load import default_data_dir
from rota.errors import InvalidConfig

HOME = {"HOME": "/home/ana"}
SETTINGS = {setting.name: setting for setting in settings()}
KINDS = [setting.kind for setting in settings()]

# One value for each source, all different and none the default.
SAMPLES: dict[str, tuple[str, str, str]] = {
    "dsn": ("postgresql://a@h/flag", "postgresql://a@h/env", "postgres://a@h/file"),
    "data_dir": ("/flag", "/env", "/file"),
    "host": ("flag.example", "10.0.0.1", "::1"),
    "port": ("1", "2", "3"),
    "roles": ("api", "worker,scheduler", "scheduler"),
    "url": ("http://flag", "https://env:81", "http://file/rota"),
    "api_key": ("rota_flag", "rota_env", "rota_file"),
    "admin_key": ("rota_flag", "rota_env", "rota_file"),
    "public_url": ("http://flag", "https://env:81", "http://file/rota"),
    "allow_private_targets": ("yes", "0", "on"),
    "https_only": ("yes", "1", "on"),
    "allow_targets": ("10.0.0.0/8", "*.example.com,::1", "example.com"),
    "deny_targets": ("10.0.0.1", "fd00::/8", "a.example, b.example"),
    "target_ports": ("443", "80,443", "8080"),
    "pool_size": ("11", "12", "13"),
    "shards": ("1", "2", "3"),
    "lead": ("1s", "500ms", "0"),
    "lease_ttl": ("20s", "21", "22s"),
    "lease_renew_interval": ("1s", "2s", "3s"),
    "retention": ("1d", "1d12h", "36h1s"),
    "capture_budget_mb": ("1", "0", "1000"),
    "secret_keys": ("k1:flag", "k2:env,k1:flag", "k1:file"),
    "secret_keys_file": ("/flag", "/env", "/file"),
    "host_rate": ("1", "0", "100"),
    "request_rate": ("1", "0", "1000"),
    "request_burst": ("1", "10", "1000"),
    "anonymous_rate": ("1", "10", "0"),
    "max_connections": ("1", "10", "1000"),
    "max_peer_connections": ("1", "10", "1000"),
    "trusted_proxies": ("10.0.0.1", "10.0.0.0/8,::1", "127.0.0.1"),
    "host_concurrency": ("1", "0", "200"),
    "circuit_failures": ("1", "0", "20"),
    "circuit_interval": ("1s", "500ms", "10m"),
    "metrics": ("false", "true", "off"),
    "metrics_port": ("1", "0", "9100"),
    "apprise": ("true", "false", "on"),
    "direct_dsn": ("postgresql://flag", "postgres://u:p@env/db", "postgresql://file/db"),
    "listen": ("false", "true", "off"),
    "celery_broker_url": ("redis://flag/0", "amqp://u@env//", "sqs://"),
}


def _problems(
    flags: dict[str, object] | None = None,
    environ: dict[str, str] | None = None,
    toml: str | None = None,
) -> tuple[str, ...]:
    with pytest.raises(InvalidConfig) as raised:
        load(flags or {}, {**HOME, **(environ or {})}, toml)
    return raised.value.problems


def _outcome(
    flags: dict[str, object], environ: dict[str, str], toml: str | None = None
) -> Config | InvalidConfig:
    try:
        return load(flags, environ, toml)
    except InvalidConfig as error:
        return error


def test_nothing_given_means_the_defaults() -> None:
    config = load({}, HOME)
    assert config == Config(data_dir=config.data_dir)
    assert (config.host, config.port) == ("127.0.0.1", 7682)
    assert config.roles == ("api", "scheduler", "worker")
    assert config.lead == timedelta(seconds=2)
    assert config.lease_ttl == timedelta(seconds=15)
    assert config.lease_renew_interval == timedelta(seconds=5)
    assert config.shards == 64
    assert config.retention == timedelta(days=30)
    assert config.allow_private_targets is None
    assert set(config.sources.values()) == {"default"}


def test_every_field_is_a_setting_with_help_on_one_line() -> None:
    names = {field.name for field in fields(Config)} - {"sources"}
    assert names == set(SETTINGS) == set(SAMPLES)
    for setting in settings():
        assert setting.help
        assert len(setting.help) <= 70
        assert "\n" not in setting.help


@given(st.data())
def test_a_flag_goes_before_a_variable_before_the_file(data: st.DataObject) -> None:
    """For every setting and any choice of sources, the first of them is the one in force."""
    flags: dict[str, object] = {}
    environ: dict[str, str] = dict(HOME)
    lines: list[str] = []
    expected: dict[str, tuple[str, str]] = {}
    for name, (flag, variable, key) in SAMPLES.items():
        given_in = data.draw(st.sets(st.sampled_from(("flag", "environment", "toml"))))
        if "toml" in given_in:
            lines.append(f'{name} = "{key}"')
            expected[name] = ("rota.toml", key)
        if "environment" in given_in:
            environ[SETTINGS[name].variable] = variable
            expected[name] = (f"environment {SETTINGS[name].variable}", variable)
        if "flag" in given_in:
            flags[name] = flag
            expected[name] = (f"flag {SETTINGS[name].flag}", flag)
    config = load(flags, environ, "\n".join(lines))
    for name, (source, text) in expected.items():
        assert config.sources[name] == source
        assert getattr(config, name) == SETTINGS[name].kind.read(text)
    for name in SAMPLES.keys() - expected.keys():
        assert config.sources[name] == "default"


def test_what_is_not_given_does_not_override() -> None:
    config = load({"port": None}, {**HOME, "ROTA_PORT": ""}, "port = 9")
    assert config.port == 9


def test_toml_may_use_its_own_types() -> None:
    toml = 'port = 9\nlead = 0.5\nroles = ["worker", "API"]\nallow_private_targets = false'
    config = load({}, HOME, toml)
    assert config.lead == timedelta(milliseconds=500)
    assert config.roles == ("api", "worker")
    assert config.allow_private_targets is False


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("port", "70000", "port: expected a whole number from 0 to 65535, got '70000'"),
        ("port", "-1", "port: expected a whole number from 0 to 65535, got '-1'"),
        ("port", "٣", "port: expected a whole number from 0 to 65535, got '٣'"),
        ("port", "9" * 5000, "port: expected a whole number from 0 to 65535, got '999"),
        ("shards", "0", "shards: expected a whole number from 1 to 4096, got '0'"),
        ("lead", "soon", "lead: expected a length of time from 0s to 1m, such as"),
        ("lead", "61s", "lead: expected a length of time from 0s to 1m, such as"),
        ("lead", "1s 2", "got '1s 2'"),
        ("lead", "-1s", "got '-1s'"),
        ("lead", "nan", "got 'nan'"),
        ("lead", "1e3", "got '1e3'"),
        ("lead", "0.0005", "got '0.0005'"),
        ("retention", "1h", "retention: expected a length of time from 1d to 3650d"),
        ("roles", "boss", "roles: expected one or more of api, scheduler, worker"),
        ("roles", "api,", "roles: expected one or more of api, scheduler, worker"),
        ("allow_private_targets", "maybe", "allow_private_targets: expected true or false"),
        ("host", "http://x", "host: expected a host name or address without a port"),
        ("host", "localhost:80", "host: expected a host name or address without a port"),
        ("host", "a b", "host: expected a host name or address without a port"),
        ("url", "localhost:7682", "url: expected http:// or https://"),
        ("url", "http://", "url: expected http:// or https://"),
        ("url", "http://h:99999", "url: expected http:// or https://"),
        ("url", "http://[::1", "url: expected http:// or https://"),
        ("dsn", "mysql://a@h/x", "got mysql://… (not shown in full)"),
        ("dsn", "host=localhost", "dsn: expected postgresql://user@host/database"),
        ("dsn", "postgresql://a b", "dsn: expected postgresql://user@host/database"),
        ("data_dir", "a\0b", "data_dir: expected the path of a folder"),
        ("data_dir", "~bob/rota", "data_dir: expected the path of a folder"),
        (
            "api_key",
            "two words",
            "api_key: expected a key without spaces, got a text that is not shown",
        ),
    ],
)
def test_each_message_says_what_was_expected_and_got_and_where(
    name: str, value: str, message: str
) -> None:
    variable = SETTINGS[name].variable
    (from_flag,) = _problems(flags={name: value})
    (from_environment,) = _problems(environ={variable: value})
    assert message in from_flag
    assert from_flag.endswith(f" (flag {SETTINGS[name].flag})")
    assert from_environment.endswith(f" (environment {variable})")
    assert len(from_flag) < 300


@pytest.mark.parametrize(
    ("line", "got"),
    [
        ("port = true", "got true"),
        ("port = 80.5", "got 80.5"),
        ("port = [1]", "got a list"),
        ("port = {a = 1}", "got a table"),
        ("port = 2026-01-01", "got a date"),
        ("port = 0x" + "f" * 5000, "got a number of more than 30 digits"),
        ("lead = true", "got true"),
        ("lead = inf", "got inf"),
        ("lead = nan", "got nan"),
        ("host = 1", "got 1"),
        ("roles = [1]", "got a list"),
        ("roles = []", "got a list"),
        ("api_key = 5", "got 5"),
    ],
)
def test_a_toml_value_of_the_wrong_type_is_named(line: str, got: str) -> None:
    (problem,) = _problems(toml=line)
    assert problem.endswith(f", {got} (rota.toml)")


def test_all_problems_come_at_once_also_overridden_ones() -> None:
    problems = _problems(
        flags={"port": 1, "host": "?"},
        environ={"ROTA_PORT": "x", "ROTA_HOTS": "y"},
        toml='port = "z"\nled = 1\nlease_ttl = "6s"\nlease_renew_interval = "5s"',
    )
    assert [problem.partition(":")[0] for problem in problems] == [
        "host",
        "port",
        "ROTA_HOTS",
        "port",
        "led",
        "lease_renew_interval",
    ]


@pytest.mark.parametrize(
    ("environ", "toml", "message"),
    [
        ({"ROTA_PROT": "1"}, "", "(environment ROTA_PROT); did you mean ROTA_PORT?"),
        ({"ROTA_ROLE": "api"}, "", "did you mean ROTA_ROLES?"),
        ({}, "lease-ttl = 1", "'lease-ttl': expected the name of a setting, got an unknown one"),
        ({}, "lease-ttl = 1", "did you mean lease_ttl?"),
        ({}, "[lease]\nttl = 1", "lease: expected the name of a setting"),
        ({}, "zzz = 1", "`rota config check` lists what can be set"),
    ],
)
def test_an_unknown_name_is_reported_with_a_guess(
    environ: dict[str, str], toml: str, message: str
) -> None:
    (problem,) = _problems(environ=environ, toml=toml)
    assert message in problem


def test_the_variables_of_a_kubernetes_service_named_rota_are_not_ours() -> None:
    address = "tcp://10.0.0.7:7682"
    config = load(
        {},
        {
            **HOME,
            "ROTA_SERVICE_HOST": "10.0.0.7",
            "ROTA_SERVICE_PORT": "7682",
            "ROTA_SERVICE_PORT_HTTP": "7682",
            "ROTA_PORT": address,
            "ROTA_PORT_7682_TCP": address,
            "ROTA_PORT_7682_TCP_PROTO": "tcp",
            "ROTA_PORT_7682_TCP_PORT": "7682",
            "ROTA_PORT_7682_TCP_ADDR": "10.0.0.7",
            "ROTA_API_SERVICE_HOST": "10.0.0.8",
            "ROTA_API_PORT": address,
        },
    )
    assert config.port == 7682
    assert config.sources["port"] == "default"


@pytest.mark.parametrize("text", ["a = ", "= 1", "a = 1\na = 2", "a = '\0'", "a = " + "[" * 5000])
def test_a_file_that_is_not_toml_is_one_problem(text: str) -> None:
    (problem,) = _problems(toml=text)
    assert problem.startswith("rota.toml: expected TOML, got ")


def test_a_lease_must_survive_one_late_renewal() -> None:
    (problem,) = _problems(environ={"ROTA_LEASE_RENEW_INTERVAL": "7500ms"})
    assert problem == (
        "lease_renew_interval: expected less than half of lease_ttl (7s500ms), got 7s500ms"
        " (environment ROTA_LEASE_RENEW_INTERVAL)"
    )


def test_a_lease_ttl_alone_brings_its_renew_interval() -> None:
    config = load({}, {**HOME, "ROTA_LEASE_TTL": "9s"})
    assert config.lease_renew_interval == timedelta(seconds=3)


@given(st.floats(1, 600))
def test_every_lease_ttl_is_taken_alone(seconds: float) -> None:
    load({}, {**HOME, "ROTA_LEASE_TTL": f"{seconds:.3f}s"})


def test_values_are_not_compared_with_one_that_is_broken() -> None:
    (problem,) = _problems(environ={"ROTA_LEASE_TTL": "x", "ROTA_LEASE_RENEW_INTERVAL": "60s"})
    assert problem.startswith("lease_ttl:")


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({"HOME": "/home/ana"}, "linux", "/home/ana/.local/share/rota"),
        ({"HOME": "/home/ana", "XDG_DATA_HOME": "/data"}, "linux", "/data/rota"),
        ({"HOME": "/home/ana", "XDG_DATA_HOME": "data"}, "linux", "/home/ana/.local/share/rota"),
        ({"HOME": "/Users/ana"}, "darwin", "/Users/ana/Library/Application Support/rota"),
        ({}, "linux", "/var/lib/rota"),
    ],
)
def test_the_data_folder_is_where_the_platform_keeps_such_things(
    environ: dict[str, str], platform: str, expected: str
) -> None:
    assert default_data_dir(environ, platform) == Path(expected)


def test_a_tilde_is_the_home_folder() -> None:
    assert load({}, HOME, 'data_dir = "~/rota"').data_dir == Path("/home/ana/rota")
    assert load({}, HOME, 'data_dir = "~"').data_dir == Path("/home/ana")
    assert load({}, HOME, 'data_dir = "."').data_dir == Path()


secret_text = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=12)


@given(secret_text, st.sampled_from(["", "/", "?", "#", "@", ":", "%", " ", "[", "\n"]))
@example("canarycanary", "/")
def test_no_secret_is_ever_shown(canary: str, special: str) -> None:
    canary = f"CANARY{canary}"
    password = f"{canary}{special}{canary}"
    texts = [
        f"postgresql://ana:{password}@db/rota",
        f"postgresql://ana@db/rota?sslmode=require&password={password}",
        f"postgresql://ana@db/rota?user=ana;sslPassword={password}",
        f"postgresql://ana@db/rota?%70assword={password}",
        f"postgresql://ana:{password}@[db/rota",
        f"mysql://ana:{password}@db/rota",
        f"ana:{password}@db",
        password,
        f"http://ana:{password}@server",
    ]
    for name in ("dsn", "api_key", "admin_key", "url"):
        for text in texts:
            if name == "url" and "@" not in text:
                continue
            outcome = _outcome({name: text}, HOME)
            assert canary not in repr(outcome)
            if isinstance(outcome, Config):
                assert canary not in str(outcome.redacted())


def test_a_misspelt_secret_is_still_a_secret() -> None:
    (problem,) = _problems(environ={"ROTA_API_KEYS": "CANARY"}, toml="")
    assert "CANARY" not in problem


def test_the_redacted_view_keeps_what_helps() -> None:
    dsn = "postgresql://ana:secret@db:5433,db2/rota?sslmode=require&password=x"
    shown = load({"dsn": dsn, "api_key": "rota_1"}, HOME).redacted()
    assert shown["dsn"] == "postgresql://ana:***@db:5433,db2/rota?sslmode=require&password=***"
    assert shown["api_key"] == "***"
    assert shown["admin_key"] is None
    assert shown["roles"] == ["api", "scheduler", "worker"]
    assert shown["retention"] == "30d"
    assert list(shown) == list(SETTINGS)


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://localhost",
        "postgres://ana@db:5432/rota",
        "postgresql:///rota?host=/run/postgresql",
        "postgresql://ana:p%40ss%2Fword@[::1]:5432/rota",
    ],
)
def test_the_usual_forms_of_a_dsn_are_taken(dsn: str) -> None:
    assert load({"dsn": dsn}, HOME).dsn == dsn


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15s", 15),
        ("500ms", 0.5),
        ("1m", 60),
        ("1m 30s", 90),
        ("2S", 2),
        ("12", 12),
        ("0.25", 0.25),
    ],
)
def test_durations_read_as_people_write_them(text: str, seconds: float) -> None:
    kind = duration(timedelta(), timedelta(hours=1))
    assert kind.read(text) == timedelta(seconds=seconds)


@given(st.integers(0, 60_000))
def test_a_shown_duration_reads_back(millis: int) -> None:
    lead = timedelta(milliseconds=millis)
    shown = load({"lead": millis / 1000}, HOME).redacted()["lead"]
    assert load({"lead": shown}, HOME).lead == lead


junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(),
    st.binary(),
    st.dates(),
    st.lists(st.text() | st.integers()),
    st.dictionaries(st.text(), st.integers()),
    st.text().map(lambda text: f"http://{text}"),
    st.text().map(lambda text: f"postgresql://{text}"),
)


@given(st.sampled_from(KINDS), junk)
def test_every_kind_takes_any_value_without_raising(kind: Kind, value: object) -> None:
    result = kind.read(value)
    if result is None:
        assert kind.got(value)
    else:
        kind.show(result)


names = st.sampled_from(sorted(SETTINGS)) | st.text()


@given(
    st.dictionaries(names, junk),
    st.dictionaries(names.map(lambda name: f"ROTA_{name.upper()}") | st.text(), st.text()),
    st.none() | st.text(),
)
def test_any_junk_is_a_config_or_its_problems(
    flags: dict[str, object], environ: dict[str, str], toml: str | None
) -> None:
    outcome = _outcome(flags, environ, toml)
    if isinstance(outcome, Config):
        assert outcome.redacted()
    else:
        assert outcome.problems
        assert all(outcome.problems)


def test_the_file_here_is_read_and_another_when_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("ROTA_")]:
        monkeypatch.delenv(name)
    assert read({}).port == 7682
    (tmp_path / "rota.toml").write_text("port = 1")
    (tmp_path / "other.toml").write_bytes(b"\xef\xbb\xbfport = 2")
    assert read({}).port == 1
    other = read({}, file=tmp_path / "other.toml")
    assert other.port == 2
    assert other.sources["port"] == str(tmp_path / "other.toml")


@pytest.mark.parametrize(
    ("content", "got"),
    [
        (None, "no such file or directory"),
        (b"\xff", "byte 0 that is not UTF-8"),
        (b" " * 1_000_001, "more than 1 MB"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_problem(
    tmp_path: Path, content: bytes | None, got: str
) -> None:
    path = tmp_path / "rota.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidConfig) as raised:
        read({}, file=path)
    assert raised.value.problems == (f"{path}: expected a TOML file, got {got}",)


def test_a_folder_in_place_of_the_file_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="expected a TOML file, got is a directory"):
        read({}, file=tmp_path)
