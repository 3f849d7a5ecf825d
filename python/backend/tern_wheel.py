# SPDX-License-Identifier: Apache-2.0
"""What pip calls to make a wheel of tern (PEP 517 and PEP 660): a zip of the folder `tern`, and
where the libtern lies that was beside that folder. There is nothing to compile, so it needs the
standard library alone, and pip needs no network."""

import base64
import hashlib
import pathlib
import re
import zipfile

HERE = pathlib.Path(__file__).resolve().parent.parent
# Where libtern is from here: of an installed tern (PREFIX/lib/tern/python), and of the source tree.
LIBRARIES = ("../../libtern.so.0", "../build/release/lib/libtern.so.0")
METADATA = """Metadata-Version: 2.1
Name: tern
Version: {version}
Summary: Programs for clusters of accelerator chips, on ordinary Linux machines
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy>=1.19
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: tern_wheel\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def _version():
    text = (HERE / "tern/_version.py").read_text(encoding="utf-8")
    return re.search(r'^VERSION = "([0-9.]+)"$', text, re.M)[1]


def _package():
    """The files of the package, by their path in it."""
    for path in sorted((HERE / "tern").rglob("*")):
        name = path.relative_to(HERE)
        if path.is_file() and "__pycache__" not in name.parts and path.suffix != ".pyc":
            yield str(name), path.read_bytes()


def _found():
    """A module that says where libtern is; of the paths that exist when the wheel is made."""
    for library in LIBRARIES:
        path = (HERE / library).absolute()
        if path.exists():
            path = path.parent.resolve() / path.name
            text = '"""Where libtern was when this package was installed."""\n\n'
            yield "tern/_installed.py", f"{text}LIBRARY = {str(path)!r}\n".encode()
            return


def _write(folder, files):
    """A wheel of (path, bytes), with the list of all that is in it; returns its name."""
    version = _version()
    info = f"tern-{version}.dist-info"
    files = [*files, (f"{info}/METADATA", METADATA.format(version=version).encode()),
             (f"{info}/WHEEL", WHEEL.encode())]
    record = ""
    for path, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode()))
    name = f"tern-{version}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files:
            entry = zipfile.ZipInfo(path)  # of 1980, so that the same files make the same wheel
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _write(wheel_directory, [*_package(), *_found()])


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """A wheel with nothing but a path to this folder, where libtern is found as in the tree."""
    return _write(wheel_directory, [("tern_editable.pth", f"{HERE}\n".encode())])
