# SPDX-License-Identifier: Apache-2.0
"""What pip calls to make a wheel of tern_torch (PEP 517): builds libtern where the tree has none, compiles
the package for the torch of this Python, and zips it."""

import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
METADATA = """Metadata-Version: 2.1
Name: tern_torch
Version: {version}
Summary: tern as a backend of torch.distributed
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: torch
"""
ENTRY_POINTS = "[torch.backends]\ntern = tern_torch:register\n"


def _version():
    text = (ROOT / "include/tern/api.h").read_text(encoding="utf-8")
    return ".".join(re.search(rf"^#define TERN_VERSION_{part} (\d+)$", text, re.M)[1]
                    for part in ("MAJOR", "MINOR", "PATCH"))


def _tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _write(folder, package):
    version, tag = _version(), _tag()
    info = f"tern_torch-{version}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: tern_torch_wheel\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files = [(f"tern_torch/{path.name}", path.read_bytes()) for path in sorted(package.iterdir())
             if path.is_file()]
    files += [(f"{info}/METADATA", METADATA.format(version=version).encode()),
              (f"{info}/WHEEL", wheel.encode()),
              (f"{info}/entry_points.txt", ENTRY_POINTS.encode())]
    record = ""
    for path, data in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode()))
    name = f"tern_torch-{version}-{tag}.whl"
    with zipfile.ZipFile(pathlib.Path(folder, name), "w", zipfile.ZIP_DEFLATED) as made:
        for path, data in files:
            entry = zipfile.ZipInfo(path)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            made.writestr(entry, data)
    return name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    library = ROOT / "build/release/lib/libtern.a"
    if not library.exists():
        subprocess.run(["make", "-C", ROOT, "build-release"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, HERE / "build.py", "--library", library, "--output", folder],
                       check=True)
        return _write(wheel_directory, pathlib.Path(folder, "tern_torch"))
