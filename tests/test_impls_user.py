"""A user's own class as an implementation: loading it, and what it may lack."""

from __future__ import annotations

import importlib.metadata
import sys
from typing import TYPE_CHECKING, Any

import pytest

from blockmark_impls.contract import OutOfBlocks, PoolConfig, Profile
from blockmark_impls.registry import (
    Implementation,
    OwnTarget,
    TargetError,
    own_target,
    plugin_names,
    resolve,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONFIG = PoolConfig(64, 4, 8, 6)


def one(target: str) -> Implementation:
    (found,) = resolve(target)
    return found


def refusal(target: str) -> str:
    with pytest.raises(TargetError) as caught:
        resolve(target)
    return str(caught.value)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A current folder of one's own; modules and search paths are put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


MANAGER = '''
from blockmark_impls.contract import Profile

class Mine:
    """Only a part of the contract."""
    reuse_order = "FIFO"
    profile = Profile(prefix_cache=True)
    def __init__(self, config): self.config = config
    def allocate(self, seq, num_tokens): pass
    def append_slot(self, seq): pass

class Batch(Mine):
    def append_slots(self, seqs): return []

class Plain:
    def allocate(self, seq, num_tokens): pass

class Pool:
    def __init__(self, total_blocks): self.free = list(range(total_blocks))
    def take(self, k): return [self.free.pop() for _ in range(k)]
    def give(self, ids): self.free += ids
    num_free = property(lambda self: len(self.free))

class BadOrder:
    reuse_order = "random"

class BadProfile:
    profile = "R"

class Outer:
    Inner = Mine

function = len
'''


def test_a_class_in_a_module_of_the_current_folder(folder: Path) -> None:
    (folder / "own_module_a.py").write_text(MANAGER)
    found = one("own_module_a:Mine")
    assert "own_module_a" not in sys.modules  # nothing of the user's has run yet
    assert (found.name, found.target) == ("own_module_a:Mine", "own_module_a:Mine")
    assert (found.tier, found.kind, found.call_style) == ("", "manager", "per-op")
    assert "own_module_a" not in sys.modules
    assert found.profile == Profile(prefix_cache=True)
    assert found.profile_for(CONFIG).letters == "RC"
    assert found.reuse_order == "FIFO"
    assert found.call_styles == ("per-op",)
    assert found.models == {"lookup", "alloc_free", "step", "pack", "pack_step", "fork"}
    assert {"free", "lookup", "num_free_blocks"} <= set(found.missing_operations)
    assert not {"allocate", "append_slot"} & set(found.missing_operations)
    assert found.make_manager(CONFIG).config == CONFIG
    assert found.make_pool(10, 16) is None
    assert found.unavailable is None
    plain = one("own_module_a:Plain")
    assert (plain.profile, plain.reuse_order) == (Profile(), "unspecified")


def test_a_module_here_hides_no_installed_one(folder: Path) -> None:
    (folder / "json.py").write_text("raise RuntimeError('the wrong json')")
    assert one("json:JSONDecoder").missing_operations


def test_a_class_in_a_file(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "own_helper_b.py").write_text("ANSWER = 42")
    text = MANAGER + "\nfrom own_helper_b import ANSWER\nMine.answer = ANSWER\n"
    (folder / "sub" / "own_file_b.py").write_text(text)
    found = one("sub/own_file_b.py:Mine")
    assert found.name == "own_file_b.py:Mine"
    manager = found.make_manager(CONFIG)
    assert manager.answer == 42
    # The same class however often it is named, and not a module that could clash.
    assert type(one("x=sub/own_file_b.py:Mine").make_manager(CONFIG)) is type(manager)
    assert "own_file_b" not in sys.modules
    assert type(manager).__module__ in sys.modules
    inner = one("sub/own_file_b.py:Outer.Inner")
    assert isinstance(inner.make_manager(CONFIG), type(manager))
    absolute = one(f"{folder}/sub/own_file_b.py:Mine")
    assert absolute.name == "own_file_b.py:Mine"
    assert type(absolute.make_manager(CONFIG)) is type(manager)


def test_names_and_parameters_of_a_users_class(folder: Path) -> None:
    (folder / "own_c.py").write_text(MANAGER)
    found = one("mine=own_c.py:Batch[call_style=per-step]")
    assert (found.name, found.scheme) == ("mine", "mine")
    assert found.target == "mine=own_c.py:Batch[call_style=per-step]"
    assert found.call_style == "per-step"
    assert found.call_styles == ("per-op", "per-step")
    assert one(found.target).name == "mine"
    message = refusal("own_c.py:Mine[call_style=per-step]")
    assert message == "own_c.py:Mine can't be driven per-step; it can be driven per-op"
    assert "no parameter row_pad" in refusal("own_c.py:Mine[row_pad=3]")


def test_a_pool_alone(folder: Path) -> None:
    (folder / "own_d.py").write_text(MANAGER)
    found = one("own_d.py:Pool")
    assert found.models == {"pool", "free_space"}
    assert found.pool_alone
    assert found.missing_operations == ()
    pool: Any = found.make_pool(4, 16)
    assert pool.take(1) == [3]
    with pytest.raises(TargetError, match="is a pool alone"):
        found.make_manager(CONFIG)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("own_e.py:Mnie", 'own_e.py:Mnie: own_e.py has no Mnie; did you mean "Mine"?'),
        ("own_e.py:function", "own_e.py:function: function is a builtin_function_or_method, not"),
        ("own_e.py:Mine.append_slot", "append_slot is a function, not a class"),
        ("nowhere.py:Mine", "nowhere.py: there is no such file"),
        ("own_no_module:Mine", "own_no_module can't be imported: ModuleNotFoundError: No module"),
        ("broken.py:Mine", "broken.py can't be imported: ZeroDivisionError: division by zero "
                           "(broken.py, line 3)"),
        ("broken:Mine", "broken can't be imported: ZeroDivisionError: division by zero "
                        "(broken.py, line 3)"),
        ("syntax.py:Mine", "syntax.py can't be imported: SyntaxError: "),
        ("leaves.py:Mine", "leaves.py can't be imported: SystemExit: 3"),
        ("needs.py:Mine", "needs.py can't be imported: ModuleNotFoundError: No module named "
                          "'own_missing_package' (needs.py, line 1)"),
    ],
)  # fmt: skip
def test_users_classes_that_cannot_be_loaded(folder: Path, target: str, message: str) -> None:
    (folder / "own_e.py").write_text(MANAGER)
    (folder / "broken.py").write_text("class Mine: pass\n\n1 / 0\n")
    (folder / "syntax.py").write_text("class Mine:\n    def\n")
    (folder / "leaves.py").write_text("raise SystemExit(3)")
    (folder / "needs.py").write_text("import own_missing_package\n")
    found = one(target)
    for _ in range(2):  # what failed is not half there the second time
        with pytest.raises(TargetError) as caught:
            found.make_manager(CONFIG)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


def test_users_declarations_are_checked(folder: Path) -> None:
    (folder / "own_f.py").write_text(MANAGER)
    found = one("own_f.py:BadOrder")
    with pytest.raises(TargetError, match="reuse_order = 'random' is not one of LIFO, FIFO"):
        _ = found.reuse_order
    with pytest.raises(TargetError, match="profile = 'R' must be a blockmark_impls"):
        _ = one("own_f.py:BadProfile").profile


def test_entry_points(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "own_g.py").write_text(MANAGER)

    def entry_points(group: str) -> list[importlib.metadata.EntryPoint]:
        names = {"vendor": "own_g:Mine", "vector": "own_g:Mine", "vendor/fast": "own_g:Batch"}
        return [
            importlib.metadata.EntryPoint(name, value, group)
            for name, value in names.items()
            if group == "blockmark.impls"
        ]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    assert plugin_names() == ["vector", "vendor", "vendor/fast"]
    found = one("vendor")
    assert (found.name, found.target, found.scheme) == ("vendor", "vendor", "vendor")
    assert found.reuse_order == "FIFO"
    fast = one("mine=vendor/fast[call_style=per-step]")
    assert (fast.name, fast.target) == ("mine", "mine=vendor/fast[call_style=per-step]")
    assert own_target("vendor/fast") == OwnTarget("vendor/fast", "")
    assert own_target("vector") is own_target("vector/cpp") is own_target("flat+lru") is None
    # A built-in name stays what it is.
    assert [each.name for each in resolve("vector")] == ["vector/py", "vector/cpp"]
    assert refusal("vendr") == 'unknown implementation "vendr"; did you mean "vendor"?'


def test_what_is_the_users_own_is_known_before_it_is_loaded() -> None:
    assert own_target("a/b/gone.py:Mine") == OwnTarget("gone.py:Mine", "")
    assert own_target("pkg.mod:Mine[call_style=per-op]") == OwnTarget(
        "pkg.mod:Mine[call_style=per-op]", ""
    )
    assert own_target("mine=a/gone.hpp:Pool") == OwnTarget("mine", "a/gone.hpp")
    assert own_target("a/gone.so") == OwnTarget("gone.so", "a/gone.so")
    assert own_target("nobody") is None
    with pytest.raises(TargetError, match="each key once"):
        own_target("a.py:Mine[x]")


def test_errors_of_a_users_manager_pass_through(folder: Path) -> None:
    text = (
        "from blockmark_impls.contract import OutOfBlocks\n"
        "class Mine:\n"
        "    def __init__(self, config): raise OutOfBlocks('own words')\n"
        "    def allocate(self, seq, num_tokens): pass\n"
    )
    (folder / "own_h.py").write_text(text)
    with pytest.raises(OutOfBlocks, match="own words"):
        one("own_h.py:Mine").make_manager(CONFIG)
