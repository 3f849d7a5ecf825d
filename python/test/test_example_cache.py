# SPDX-License-Identifier: Apache-2.0
"""The cache of objects: what makes a source compile again, and what must never be served."""

from __future__ import annotations

import json
import os
import threading
import time

import pytest

from example_fixtures import FAKE, Folder
from tern.example import cache as store
from tern.example.build import Builder, Job, check_built, plan_jobs
from tern.example.config import load_config
from tern.example.problem import Problem


class Place:
    """A folder with sources that are old enough to be kept, and a builder for each run."""

    def __init__(self, path, monkeypatch):
        monkeypatch.setenv("TMPDIR", str(path))
        self.log = path / "log"
        monkeypatch.setenv("FAKE_LOG", str(self.log))
        self.folder = Folder(path / "f")
        self.first, self.second = path / "first", path / "second"
        for folder in (self.first, self.second, path / "objects"):
            folder.mkdir()
        self.objects = path / "objects"
        self.source = self.folder.kernels / "kernel.cpp"
        self.cache = store.Cache(path / "cache")
        self.includes = (f"-I{self.first}", f"-I{self.second}")

    def write(self, path, text):
        """Older than any run, so that what is made of it may be kept."""
        path.write_text(text)
        time.sleep(0.03)

    def compile(self, options=None):
        job = Job(self.source, self.includes if options is None else options, "build_graph", "")
        Builder(FAKE, "host_build_graph", self.cache, lambda text: None).run(
            [job], self.objects, lambda done: None)
        assert job.status == 0 and job.data[:4] == b"\x7fELF"
        return job.cached

    def both(self):
        return self.compile(), self.compile()


@pytest.fixture
def place(tmp_path, monkeypatch):
    made = Place(tmp_path, monkeypatch)
    made.write(made.second / "one.hpp", "#define ONE 1\n")
    made.write(made.source, '#include "one.hpp"\n')
    return made


def test_nothing_changed(place):
    assert place.both() == (False, True)


def test_a_source_that_changed_and_came_back(place):
    assert place.both() == (False, True)
    place.write(place.source, '#include "one.hpp"\nint changed;\n')
    assert place.both() == (False, True)
    place.write(place.source, '#include "one.hpp"\n')
    assert place.compile()


def test_a_header_that_changed(place):
    assert place.both() == (False, True)
    about = os.stat(place.second / "one.hpp")
    place.write(place.second / "one.hpp", "#define ONE 2\n")
    os.utime(place.second / "one.hpp", ns=(about.st_atime_ns, about.st_mtime_ns))
    time.sleep(0.03)
    assert place.both() == (False, True)
    place.write(place.second / "one.hpp", "#define ONE 1\n")
    assert place.compile(), "the object of the text before is still there"


def test_a_header_that_appears_in_a_folder_before(place):
    assert place.both() == (False, True)
    place.write(place.first / "one.hpp", "#define ONE 3\n")
    assert place.both() == (False, True)
    (place.first / "one.hpp").unlink()
    assert place.compile()


def test_a_header_that_appears_beside_the_source(place):
    assert place.both() == (False, True)
    place.write(place.source.parent / "one.hpp", "#define ONE 4\n")
    assert not place.compile()


def test_a_header_that_is_gone(place):
    assert place.both() == (False, True)
    (place.second / "one.hpp").rename(place.second / "two.hpp")
    assert not place.compile()


def test_options_compiler_and_its_environment(place, monkeypatch, tmp_path):
    assert place.both() == (False, True)
    assert not place.compile(place.includes + ("-DMORE",))
    monkeypatch.setenv("CPATH", str(tmp_path))
    assert not place.compile()
    monkeypatch.delenv("CPATH")
    assert place.compile()
    monkeypatch.setenv("CXX", "g++ -O3")
    assert not place.compile()
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(Problem, match="there is no compiler 'no-such-compiler'"):
        place.compile()


def test_what_was_written_while_it_compiled_is_not_kept(place, monkeypatch):
    header = place.second / "one.hpp"
    monkeypatch.setenv("FAKE_CHANGES", str(header))
    assert not place.compile()
    assert header.read_text() == "#define ONE 5\n"
    monkeypatch.delenv("FAKE_CHANGES")
    time.sleep(0.03)
    assert not place.compile()
    header.write_text("#define ONE 1\n")
    time.sleep(0.03)
    assert not place.compile(), "the first object was of one of the two texts"


@pytest.mark.parametrize("text", ["#if __has_include(<x>)", "char t[] = __TIME__;",
                                  'asm(".incbin \\"x\\"");'])
def test_what_depends_on_more_than_files_is_not_kept(place, text):
    place.write(place.second / "one.hpp", text + "\n")
    assert place.both() == (False, False)


def test_a_damaged_cache_is_no_cache(place):
    assert place.both() == (False, True)
    entry = next(place.cache.folder.glob("*.so"))
    entry.write_bytes(entry.read_bytes()[:-1])
    assert place.both() == (False, True)
    records = next(place.cache.folder.glob("*.json"))
    record = '{"format": 1, "records": [{"depends": %s, "absent": %s, "object": "%s"}]}'
    for text in ("", "[]", '{"format": 1}', '{"format": 1, "records": [{"depends": 3}]}',
                 record % ("{}", "[3]", "x"), record % ("{}", "[]", "\\u0000"), "[" * 100000,
                 record % ('{"\\u0000": "x"}', "[]", "x")):
        records.write_text(text)
        assert place.both() == (False, True)


def test_a_folder_that_cannot_be_written_does_not_matter(place, tmp_path):
    (tmp_path / "cache").write_text("a file")
    assert place.both() == (False, False)


def test_at_most_four_records(place):
    for number in range(6):
        place.write(place.second / "one.hpp", f"#define ONE {number}\n")
        assert not place.compile()
    records = json.loads(next(place.cache.folder.glob("*.json")).read_text())["records"]
    assert len(records) == 4


def test_trim_keeps_what_was_used_last(tmp_path):
    cache = store.Cache(tmp_path)
    for number in range(10):
        cache.store(f"key{number}", {}, [], bytes([number]) * 1000)
        for path in tmp_path.glob(f"{store.hash_of(bytes([number]) * 1000)}.so"):
            os.utime(path, (number, number))
    (tmp_path / "x.tmp").write_text("of a run that was killed")
    os.utime(tmp_path / "x.tmp", (0, 0))
    for path in tmp_path.glob("*.json"):
        os.utime(path, (100, 100))
    cache.trim(4000)
    kept = [number for number in range(10)
            if (tmp_path / f"{store.hash_of(bytes([number]) * 1000)}.so").exists()]
    assert kept and kept == list(range(10 - len(kept), 10))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 4000
    assert not (tmp_path / "x.tmp").exists()


def test_depends_as_compilers_write_them(tmp_path):
    file = tmp_path / "x.d"
    file.write_text("o.o: /a/b.cpp \\\n /a/with\\ space.hpp /a/x/../c.hpp /a/$$d \\\n\n/a/b.cpp:\n")
    assert store.read_depends(file) == ["/a/b.cpp", "/a/with space.hpp", "/a/c.hpp", "/a/$d"]


def test_all_errors_of_all_sources_are_shown(place, tmp_path):
    kernels = place.folder.kernels
    (kernels / "orch.cpp").write_text("#error one\n")
    (kernels / "kernel.cpp").write_text("#error two\n")
    config = load_config(kernels, None, None)
    built = plan_jobs(config, FAKE, lambda text: None)
    Builder(FAKE, "host_build_graph", None, lambda text: None).run(
        built.jobs, place.objects, lambda done: None)
    with pytest.raises(Problem) as caught:
        check_built(built, config)
    assert caught.value.details.splitlines() == [
        f"{kernels}/orch.cpp:1:2: error: #error one",
        f"{kernels}/kernel.cpp:1:2: error: #error two"]
    assert caught.value.sentence == "they do not compile"


def test_folders_of_the_isa(place, monkeypatch, tmp_path):
    """Relative to the root, or absolute; what is not there may be a folder whose headers tern
    has."""
    (tmp_path / "isa" / "tests").mkdir(parents=True)
    monkeypatch.setenv("PTO_ISA_ROOT", str(tmp_path / "isa"))
    config = place.folder.kernels / "kernel_config.py"
    config.write_text(config.read_text().replace(
        '"root": 0,', f'"root": 0, "comm_include_dirs": ["tests", "none", "{place.first}"],'))
    notes = []
    built = plan_jobs(load_config(place.folder.kernels, None, None), FAKE, notes.append)
    wanted = (f"-I{tmp_path}/isa/tests", f"-I{place.first}")
    assert built.orchestration.options == wanted
    assert built.kernels[0][1].options == wanted + ("-D__DAV_VEC__",)
    assert notes == [f"comm_include_dirs: there is no folder {tmp_path}/isa/none; tern's headers "
                     "are used"]


@pytest.mark.parametrize("names, place_of, sentence", [
    ("build_graf kernel_entry", 'ORCHESTRATION["function_name"]',
     "orch.cpp has no function build_graph; did you mean 'build_graf'?"),
    ("_Z11build_graphv kernel_entry", 'ORCHESTRATION["function_name"]',
     'orch.cpp has no function build_graph; it lacks extern "C"'),
    ("build_graph entry_of_all_kernels_x", 'KERNELS[0]["source"]',
     "kernel.cpp has no function kernel_entry"),
])
def test_functions_that_are_not_there(place, monkeypatch, names, place_of, sentence):
    monkeypatch.setenv("FAKE_NAMES", names)
    config = load_config(place.folder.kernels, None, None)
    built = plan_jobs(config, FAKE, lambda text: None)
    Builder(FAKE, "host_build_graph", None, lambda text: None).run(
        built.jobs, place.objects, lambda done: None)
    with pytest.raises(Problem) as caught:
        check_built(built, config)
    assert caught.value.place == f"{place.folder.kernels / 'kernel_config.py'}: {place_of}"
    assert caught.value.sentence == f"{place.folder.kernels}/{sentence}"


def test_runs_at_the_same_time(place):
    """Each sees an object whole or not at all."""
    errors = []

    def work():
        try:
            cache = store.Cache(place.cache.folder)
            for number in range(200):
                cache.store("key", {}, [], bytes([number]) * 5000)
                found = cache.find("key", store.Hashes())
                assert found is None or (len(found) == 5000 and len(set(found)) == 1)
        except BaseException as error:  # told below
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not errors and not list(place.cache.folder.glob("*.tmp"))


def test_a_folder_that_others_can_write_to_is_not_used(place, monkeypatch):
    mask = os.umask(0o002)  # as many systems have it
    try:
        assert place.both() == (False, True)
    finally:
        os.umask(mask)
    place.cache.folder.chmod(0o777)
    assert not place.compile()
    place.cache.folder.chmod(0o755)
    assert place.compile()
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(place.cache.folder).st_uid + 1)
    assert not place.compile()


def test_no_home_is_no_cache(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # a user without an entry
    assert store.default_folder() is None
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert str(store.default_folder()) == "/somewhere/tern"
