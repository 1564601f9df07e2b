import ctypes
import os
import subprocess
import sys

import pytest

from sam.support import c_compiler as cc
from sam.support.errors import UserError
from tests.support.compiler import needs_compiler

pytestmark = needs_compiler

ANSWER = "int answer(void) { return 42; }"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SAM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def mistake(source=ANSWER):
    with pytest.raises(UserError) as caught:
        cc.build([source])
    return str(caught.value)


def program(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_compiled_code_is_kept_on_disk(folder):
    [library] = cc.build([ANSWER])
    assert library.answer() == 42
    [kept] = folder.glob("*.so")
    written = kept.stat().st_ino
    cc.build([ANSWER])
    assert [path.stat().st_ino for path in folder.glob("*.so")] == [written]


def test_a_missing_compiler_is_named(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -O3")
    assert mistake() == "the C compiler no-such-compiler, which CC names, is not found"


@pytest.mark.parametrize("text", ["", " ", "\t"])
def test_an_empty_cc_names_no_compiler(text, monkeypatch):
    monkeypatch.setenv("CC", text)
    assert cc.build([ANSWER])[0].answer() == 42


def test_a_quote_that_is_not_closed(monkeypatch):
    monkeypatch.setenv("CC", 'gcc "-O2')
    assert mistake() == 'CC cannot be split into words: No closing quotation: gcc "-O2'
    assert not cc.available()
    monkeypatch.delenv("CC")
    monkeypatch.setenv("SAM_CFLAGS", "-O2 'x")
    assert mistake() == "SAM_CFLAGS cannot be split into words: No closing quotation: -O2 'x"


def test_a_compiler_that_makes_no_file(monkeypatch):
    monkeypatch.setenv("CC", "true")
    assert mistake() == (
        "the C compiler true reports success and makes no file\n"
        "hint: set CC to a C compiler, or unset it"
    )


def test_a_compiler_that_makes_no_library(monkeypatch, tmp_path):
    text = '#!/bin/sh\nfor a; do [ "$a" = kernel.so ] && echo nothing > kernel.so; done; true\n'
    fake = program(tmp_path / "fake", text)
    monkeypatch.setenv("CC", str(fake))
    assert mistake().startswith(f"the library that the C compiler {fake} makes cannot be loaded: ")


def test_a_compiler_that_is_no_program(monkeypatch, tmp_path):
    fake = program(tmp_path / "fake", "\x7fELF and no more")
    monkeypatch.setenv("CC", str(fake))
    assert mistake() == f"the C compiler {fake} cannot be run: Exec format error"


def test_messages_of_the_compiler_are_quoted():
    assert mistake("int answer(void) { return nothing; }").startswith("the C compiler ")


@pytest.mark.parametrize("content", [b"", b"\x7fELF", None])
def test_a_library_that_is_not_whole_is_compiled_anew(content, folder):
    source = f"int answer(void) {{ return {len(content or b'none')}; }}"
    run = [
        sys.executable,
        "-c",
        f"from sam.support import c_compiler as cc; cc.build([{source!r}])",
    ]
    subprocess.run(run, check=True)
    [kept] = folder.glob("*.so")
    whole = kept.read_bytes()
    kept.write_bytes(whole[: len(whole) // 2] if content is None else content)
    [library] = cc.build([source])
    assert library.answer() == len(content or b"none")


def test_processes_compile_a_kernel_once(folder, monkeypatch, tmp_path):
    log = tmp_path / "log"
    real = " ".join(cc.compiler())
    text = f'#!/bin/sh\n[ "$1" = --version ] || echo ran >> {log}\nexec {real} "$@"\n'
    sources = [f"int answer(void) {{ return {n}; }}" for n in range(3)]
    script = f"from sam.support import c_compiler as cc; cc.build({sources!r})"
    environment = {**os.environ, "CC": str(program(tmp_path / "counting", text))}
    started = [subprocess.Popen([sys.executable, "-c", script], env=environment) for _ in range(4)]
    assert [process.wait() for process in started] == [0] * 4
    assert log.read_text() == "ran\n" * 3
    assert {path.suffix for path in folder.iterdir()} == {".so", ".sum"}


def test_a_library_that_must_be_at_hand_is_not_compiled():
    with pytest.raises(cc.NotAtHand):
        cc.build([ANSWER], at_hand=True)
    cc.build([ANSWER])
    assert cc.build([ANSWER], at_hand=True)[0].answer() == 42


def test_another_version_of_the_compiler_compiles_anew(folder, monkeypatch, tmp_path):
    real = " ".join(cc.compiler())
    for version in "12":
        text = f'#!/bin/sh\n[ "$1" = --version ] && echo {version} && exit\nexec {real} "$@"\n'
        monkeypatch.setenv("CC", str(program(tmp_path / "cc", text)))
        cc._maker.cache_clear()
        cc.build([ANSWER])
    cc._maker.cache_clear()
    assert len(list(folder.glob("*.so"))) == 2


def test_a_cache_without_room(monkeypatch, folder):
    monkeypatch.setenv("SAM_CACHE_BYTES", "0")
    assert isinstance(cc.build([ANSWER])[0], ctypes.CDLL)
    assert not list(folder.glob("*.so"))


def test_compilations_are_told_and_timed_once(folder):
    told = []
    with cc.watched(told.append) as first:
        cc.build([ANSWER, ANSWER.replace("42", "43"), ANSWER])
    assert told == [2, 0]
    assert first.sources == 2
    assert first.seconds > 0
    with cc.watched(told.append) as second:
        cc.build([ANSWER])
    assert told == [2, 0]
    assert (second.sources, second.seconds) == (0, 0.0)


def test_the_end_is_told_also_when_the_compiler_fails(folder):
    told = []
    with cc.watched(told.append), pytest.raises(UserError):
        cc.build(["no C"])
    assert told == [1, 0]


def test_each_source_has_its_own_flags(folder):
    source = "int answer(void) {{ return ANSWER + {}; }}"
    sources = [source.format(0), source.format(1), source.format(0)]
    found = cc.build(sources, flags=lambda text: (*cc.FLAGS, f"-DANSWER={len(text)}"))
    assert [library.answer() for library in found] == [
        len(sources[0]),
        len(sources[0]) + 1,
        len(sources[0]),
    ]


def test_a_flag_for_linking_is_kept_by_a_compiler_that_tells_of_it_where_nothing_is_linked(
    tmp_path, monkeypatch
):
    """As clang does: "argument unused during compilation"."""
    text = (
        '#!/bin/sh\ncase " $* " in *" -c "*-shared*|*-shared*" -c "*) exit 1;; esac\nexec cc "$@"\n'
    )
    monkeypatch.setenv("CC", str(program(tmp_path / "strict", text)))
    assert cc.supported(("-shared", "-fPIC")) == ("-shared", "-fPIC")
    assert cc.build([ANSWER])[0].answer() == 42
