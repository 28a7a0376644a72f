"""Writes RECORD and zips a folder into a wheel: make_wheel.py WHEEL FOLDER EPOCH."""

import base64
import hashlib
import sys
import time
import zipfile
from pathlib import Path

wheel, folder, epoch = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
moment = time.gmtime(epoch)[:6]
# Installers that read in order find the metadata last, where the format wants it.
files = sorted((path for path in folder.rglob("*") if path.is_file()), key=lambda path: (".dist-info" in str(path), path))
info = next(folder.glob("*.dist-info")).name

with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
    rows = []

    def add(name, content, mode):
        entry = zipfile.ZipInfo(name, moment)
        entry.external_attr = (0o100000 | mode) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, content)

    for path in files:
        name, content = path.relative_to(folder).as_posix(), path.read_bytes()
        add(name, content, 0o755 if "/scripts/" in name else 0o644)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(content)}\n")
    add(f"{info}/RECORD", "".join(rows) + f"{info}/RECORD,,\n", 0o644)
