"""Names of implementations: what each resolves to, and what a wrong one is told."""

from __future__ import annotations

import subprocess
import sys
import types
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING, Any

import pytest

from blockmark_impls import core as core_module
from blockmark_impls.contract import (
    BlockManager,
    PoolConfig,
    missing_operations,
)
from blockmark_impls.registry import (
    NATIVE_MISSING,
    Implementation,
    TargetError,
    builtin_names,
    pair_names,
    resolve,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG = PoolConfig(64, 4, 8, 6)
BUILTIN = [
    "hash-map/py",
    "hash-map/cpp",
    "vector/py",
    "vector/cpp",
    "flat-stack/py",
    "flat-stack/numpy",
    "flat-stack/cpp",
    "two-level/py",
    "two-level/cpp",
    "null/py",
    "null/cpp",
    "raw-array/cpp",
]
OPERATIONS = [name for name in vars(BlockManager) if not name.startswith("_")]


def one(target: str) -> Implementation:
    (found,) = resolve(target)
    return found


def pool_of(found: Implementation, total_blocks: int, id_bits: int) -> Any:
    pool = found.make_pool(total_blocks, id_bits)
    assert pool is not None
    return pool


def refusal(target: str) -> str:
    with pytest.raises(TargetError) as caught:
        resolve(target)
    message = str(caught.value)
    assert "\n" not in message
    return message


class FakeCore(types.ModuleType):
    """A stand-in for the C++ core that says what it was asked for."""

    def __init__(self) -> None:
        super().__init__("blockmark_impls._native")
        self.__spec__ = ModuleSpec(self.__name__, None)

    @staticmethod
    def _making(*what: object) -> Any:
        return lambda *sizes, **keywords: (*what, sizes, keywords)

    def manager_class(self, table: str, pool: str, refs: str, id_bits: int) -> Any:
        return self._making(table, pool, refs, id_bits)

    def pool_class(self, pool: str, id_bits: int) -> Any:
        return self._making(pool, id_bits)

    def null_manager_class(self, *sizes: int) -> Any:
        return "null", sizes

    def RawArray(self, *sizes: int, **keywords: int) -> Any:  # noqa: N802 - the core's name
        return "raw", sizes, keywords


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCore]:
    fake = FakeCore()
    monkeypatch.setitem(sys.modules, fake.__name__, fake)
    core_module.core_missing.cache_clear()
    yield fake
    core_module.core_missing.cache_clear()


@pytest.fixture
def no_core(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(core_module, "find_spec", lambda name: None)
    core_module.core_missing.cache_clear()
    yield
    core_module.core_missing.cache_clear()


def test_builtin_names_resolve_to_themselves() -> None:
    assert builtin_names() == BUILTIN
    for name in BUILTIN:
        found = one(name)
        assert (found.name, found.target) == (name, name)
        assert f"{found.scheme}/{found.tier}" == name
        assert found.kind == ("control" if found.scheme in ("null", "raw-array") else "manager")
        assert found.summary
        assert dict(found.parameters) == {}
        assert isinstance(hash(found), int)


@pytest.mark.parametrize(
    ("target", "names"),
    [
        ("flat-stack", ["flat-stack/py", "flat-stack/numpy", "flat-stack/cpp"]),
        ("vector", ["vector/py", "vector/cpp"]),
        (" vector/py ", ["vector/py"]),
        ("null", ["null/py", "null/cpp"]),
        ("two-level", ["two-level/py", "two-level/cpp"]),
        ("open-hash+lru", ["open-hash+lru/cpp"]),
        ("two-level+lru", ["two-level+lru/cpp"]),
        ("flat+stack/cpp", ["flat+stack/cpp"]),
        ("flat-stack/cpp[row_pad=32]", ["flat-stack/cpp[row_pad=32]"]),
        ("flat-stack/cpp[ row_pad = 032 ]", ["flat-stack/cpp[row_pad=32]"]),
        (
            "flat-stack/cpp[call_style=per-op,row_pad=0]",
            ["flat-stack/cpp[row_pad=0,call_style=per-op]"],
        ),
        # Its own call style needs no saying.
        ("flat-stack/cpp[call_style=native]", ["flat-stack/cpp"]),
        ("flat-stack/numpy[call_style=per-op]", ["flat-stack/numpy[call_style=per-op]"]),
        # Of a whole scheme, the tiers that take the parameter.
        ("flat-stack[row_pad=8]", ["flat-stack/cpp[row_pad=8]"]),
        (
            "flat-stack[call_style=per-step]",
            ["flat-stack/numpy", "flat-stack/cpp[call_style=per-step]"],
        ),
        ("flat+list[row_pad=8]", ["flat+list/cpp[row_pad=8]"]),
        ("mine=vector/py", ["mine"]),
        ("mine=vector", ["mine/py", "mine/cpp"]),
        ("a.b_c-1=flat-stack/cpp[row_pad=8]", ["a.b_c-1"]),
    ],
)
def test_resolution(target: str, names: list[str]) -> None:
    found = resolve(target)
    assert [each.name for each in found] == names
    for each in found:
        again = one(each.target)
        assert (again.name, again.scheme, again.parameters) == (
            each.name,
            each.scheme,
            each.parameters,
        )


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("flat-stak/cpp", 'unknown implementation "flat-stak/cpp"; did you mean "flat-stack/cpp"?'),
        ("vectr", 'unknown implementation "vectr"; did you mean "vector"?'),
        (
            "zzz",
            'unknown implementation "zzz"; there are hash-map, vector, flat-stack, '
            "two-level, null, raw-array, file.py:Class and module:Class",
        ),
        ("vector/numpy", '"vector/numpy": vector has no tier numpy; it has py, cpp'),
        ("vector/", '"vector/": vector has no tier of that name; it has py, cpp'),
        ("opn-hash+lru", '"opn-hash+lru": unknown table "opn-hash"; did you mean "open-hash"?'),
        ("hash+queue", '"hash+queue": unknown pool "queue"; there are list, stack, lru'),
        ("hash+lru/py", '"hash+lru/py": a table with a pool is in the tier cpp alone'),
        (
            "flat-stack/cpp[rowpad=3]",
            'flat-stack/cpp has no parameter rowpad; did you mean "row_pad"?',
        ),
        ("flat-stack[rowpad=3]", 'flat-stack has no parameter rowpad; did you mean "row_pad"?'),
        ("vector/cpp[row_pad=3]", "vector/cpp has no parameter row_pad; it has call_style"),
        ("two-level/cpp[row_pad=3]", "two-level/cpp has no parameter row_pad; it has call_style"),
        (
            "flat-stack/cpp[row_pad=wide]",
            "flat-stack/cpp: row_pad = wide must be a whole number of ids, 0 to 65536",
        ),
        (
            "flat-stack/cpp[row_pad=-1]",
            "flat-stack/cpp: row_pad = -1 must be a whole number of ids, 0 to 65536",
        ),
        (
            "flat-stack/cpp[row_pad=65537]",
            "flat-stack/cpp: row_pad = 65537 must be a whole number of ids, 0 to 65536",
        ),
        (
            "vector/py[call_style=native]",
            "vector/py can't be driven native; it can be driven per-op",
        ),
        (
            "raw-array/cpp[call_style=per-op]",
            "raw-array/cpp can't be driven per-op; it can be driven native",
        ),
        (
            "vector/py[call_style=per-opp]",
            'vector/py: unknown call_style "per-opp"; did you mean "per-op"?',
        ),
        ("a=vector=b", 'unknown implementation "vector=b"; did you mean "vector"?'),
        ("", '"" is not a target'),
        ("flat-stack/cpp[row_pad=3", "is not a target"),
        ("[row_pad=3]", "is not a target"),
        ("flat-stack/cpp[]", "brackets must hold key=value, each key once"),
        ("flat-stack/cpp[row_pad]", "brackets must hold key=value, each key once"),
        ("flat-stack/cpp[row_pad=]", "brackets must hold key=value, each key once"),
        ("flat-stack/cpp[row_pad=1,row_pad=2]", "brackets must hold key=value, each key once"),
        ("=vector/py", "the name may have letters, digits and . _ - / alone"),
        ("a+b=vector/py", "the name may have letters, digits and . _ - / alone"),
        ("vector=flat-stack", "vector is the name of a built-in implementation"),
        ("null/py=vector/py", "null/py is the name of a built-in implementation"),
        (":Class", "a class of your own is module:Class or path/file.py:Class"),
        ("module:", "a class of your own is module:Class or path/file.py:Class"),
    ],
)
def test_refusals(target: str, message: str) -> None:
    assert message in refusal(target)


def test_pairs() -> None:
    names = pair_names()
    # Five tables with three pools each; two more pools with two of the tables.
    assert len(names) == len(set(names)) == 5 * 3 + 2 * 2
    assert "open-hash+lru/cpp" in names
    orders = {"lru": "FIFO", "linked-list": "FIFO", "bitmap": "next-fit"}
    for name in names:
        found = one(name)
        assert found.name == name
        pool = name.partition("+")[2].removesuffix("/cpp")
        assert found.reuse_order == orders.get(pool, "LIFO")
        assert found.profile.id_type == (
            "uint16" if name.startswith(("flat", "two-level")) else "int32"
        )


def test_python_rows_say_what_their_classes_say() -> None:
    """The table is read without importing the structures, so it must agree with them."""
    for name in BUILTIN:
        found = one(name)
        if found.tier == "cpp":
            continue
        assert found.unavailable is None
        manager = found.make_manager(CONFIG)
        assert type(manager).profile == found.profile, name
        assert type(manager).reuse_order == found.reuse_order, name
        assert missing_operations(manager, OPERATIONS) == list(found.missing_operations) == []
        batch = missing_operations(manager, ["append_slots", "lookup_slots"]) == []
        assert ("per-step" in found.call_styles) == batch
        assert found.call_style == found.call_styles[0]
        pool = pool_of(found, 10, 16)
        assert pool.num_free == 10
        if found.kind == "manager":
            assert list(pool.take(2)) == [0, 1]


def test_models_and_call_styles() -> None:
    everything = {"lookup", "alloc_free", "pool", "step", "pack", "pack_step", "fork"}
    for name in BUILTIN:
        found = one(name)
        if found.kind == "manager":
            assert found.models == everything | {"free_space"}
            assert not found.pool_alone
    assert one("null/py").models == one("null/cpp").models == everything - {"pack"}
    assert one("raw-array/cpp").models == everything - {"step", "fork"}
    assert [one(name).call_style for name in BUILTIN] == [
        "per-op", "native", "per-op", "native", "per-op", "per-step", "native",
        "per-op", "native", "per-op", "native", "native",
    ]  # fmt: skip
    assert one("flat-stack/cpp[call_style=per-step]").call_style == "per-step"


def test_id_widths() -> None:
    wide = PoolConfig(65_537, 16, 4, 4, id_bits=32)
    narrow = PoolConfig(65_537, 16, 4, 4, id_bits=16)
    for name in (
        "flat-stack/py",
        "flat-stack/numpy",
        "flat-stack/cpp",
        "two-level/py",
        "two-level/cpp",
        "raw-array/cpp",
    ):
        assert one(name).profile_for(wide).id_type == "uint32"
        one(name).make_manager(wide)
        with pytest.raises(ValueError, match=r"65,?537.*uint16"):
            one(name).make_manager(narrow)
        with pytest.raises(ValueError, match=r"id_bits|24"):
            one(name).make_manager(PoolConfig(1, 1, 1, 1, id_bits=24))
    for name in ("vector/cpp", "hash-map/cpp", "vector/py", "null/cpp"):
        one(name).make_manager(narrow)
    with pytest.raises(ValueError, match=r"2,?147,?483,?649.*int32"):
        one("vector/cpp").make_manager(PoolConfig(2**31 + 1, 16, 4, 4))


def test_python_implementations_refuse_what_their_ids_cannot_number() -> None:
    for name in ("flat-stack/py", "flat-stack/numpy", "two-level/py"):
        with pytest.raises(ValueError, match="uint16"):
            one(name).make_manager(PoolConfig(65_537, 16, 4, 4))


@pytest.mark.parametrize(
    ("target", "manager", "pool"),
    [
        ("hash-map/cpp", ("hash", "list", "hash", 32), ("list", 32)),
        ("vector/cpp", ("vector", "list", "array", 32), ("list", 32)),
        ("flat-stack/cpp", ("flat", "stack", "array", 64), ("stack", 64)),
        ("two-level/cpp", ("two-level", "stack", "array", 64), ("stack", 64)),
        ("open-hash+lru", ("open-hash", "lru", "array", 32), ("lru", 32)),
    ],
)
def test_native_classes(
    core: FakeCore, target: str, manager: tuple[Any, ...], pool: tuple[Any, ...]
) -> None:
    config = PoolConfig(64, 4, 8, 6, id_bits=64)
    found = one(target)
    assert found.unavailable is None
    assert found.make_manager(config) == (*manager, (64, 4, 8, 6), {})
    assert found.make_pool(64, 64) == (*pool, (64,), {})


def test_native_parameters_and_controls(core: FakeCore) -> None:
    padded = one("flat-stack/cpp[row_pad=32,call_style=per-op]")
    assert padded.make_manager(CONFIG)[-1] == {"row_pad": 32}
    assert one("null/cpp").make_manager(CONFIG) == ("null", (64, 4, 8, 6))
    assert one("raw-array/cpp").make_manager(CONFIG) == ("raw", (64, 4, 8, 6, 16), {})
    raw = one("raw-array/cpp[row_pad=8]")
    assert raw.make_manager(CONFIG)[-1] == {"row_pad": 8}
    assert raw.make_pool(64, 32) == ("raw", (64, 1, 1, 1, 32), {})


def test_without_a_core(no_core: None) -> None:
    for name in BUILTIN:
        found = one(name)
        assert found.unavailable == (NATIVE_MISSING if found.tier == "cpp" else None)
    with pytest.raises(TargetError, match="install a C\\+\\+ compiler"):
        one("flat-stack/cpp").make_manager(CONFIG)
    with pytest.raises(TargetError, match="not built"):
        one("null/cpp").make_pool(4, 16)


def test_the_real_core_says_what_the_table_says() -> None:
    pytest.importorskip("blockmark_impls._native")
    for name in [*BUILTIN, *pair_names()]:
        found = one(name)
        if found.tier != "cpp" or found.scheme == "raw-array":
            continue
        for bits in (16, 32, 64):
            config = PoolConfig(64, 4, 8, 6, id_bits=bits)
            manager = found.make_manager(config)
            assert manager.reuse_order == found.reuse_order, name
            assert manager.profile == found.profile_for(config), name
            assert missing_operations(manager, OPERATIONS) == []
            pool = pool_of(found, 10, bits)
            if found.kind == "manager":
                assert pool.take(2) == [0, 1]
    padded = one("flat-stack/cpp[row_pad=24]").make_manager(CONFIG)
    bare = one("flat-stack/cpp[row_pad=0]").make_manager(CONFIG)
    assert padded.table_bytes() > bare.table_bytes()
    assert pool_of(one("raw-array/cpp"), 10, 16).num_free_blocks == 10


def test_names_are_cheap() -> None:
    """Listing imports neither NumPy, nor the core, nor a structure, nor looks for plugins."""
    code = (
        "import sys; from blockmark_impls import registry as r;"
        "[(i.profile, i.reuse_order, i.models, i.call_styles, i.unavailable)"
        " for n in r.builtin_names() + r.pair_names() for i in r.resolve(n)];"
        "bad = {'numpy', 'blockmark_impls._native', 'blockmark_impls.python.vector',"
        " 'importlib.metadata'};"
        "assert not bad & set(sys.modules), bad & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True)
