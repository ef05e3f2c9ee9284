"""Changes a data set file that Skyline has sealed, and seals it again as docs/internals/files.md says."""

import hashlib
import json
import subprocess

import h5py

SEAL_BYTES = 1024


def checksum(data):
    return subprocess.run(["xxh128sum"], input=data, check=True, capture_output=True).stdout.decode().split()[0]


def with_targets(path, changed, target):
    """Replaces the targets of each part by `changed(PART, targets)`, and gives the columns of the preparation's targets the
    members `target`."""
    with h5py.File(path, "r+") as file:
        arrays = {}
        for part in ("train", "validation", "test"):
            targets = file[f"{part}/targets"]
            targets[...] = changed(part, targets[...]).astype("float32")
            targets.attrs["sha256"] = hashlib.sha256(targets[...].tobytes()).hexdigest()
        preparation = json.loads(file["preparation"].asstr()[0])
        for column in preparation["targets"]:
            column.update(target)
        del file["preparation"]
        file["preparation"] = [json.dumps(preparation)]
        for part in ("train", "validation", "test"):
            for name in (f"{part}/values", f"{part}/targets"):
                if file[name].id.get_offset() is not None:
                    arrays[name] = (file[name].id.get_offset(), file[name].id.get_storage_size())
    data = path.read_bytes()
    lines = data[:SEAL_BYTES].decode().split("\n")
    named = [line.split()[1] for line in lines if line.startswith("array ")]
    structure, end = b"", SEAL_BYTES
    sums = []
    for name, (offset, size) in sorted(((name, arrays[name]) for name in named), key=lambda each: each[1]):
        structure += data[end:offset]
        end = offset + size
        sums.append(f"array {name} {offset} {size} {checksum(data[offset:end])}\n")
    structure += data[end:]
    text = f"{lines[0]}\n{lines[1]}\nbytes {len(data)}\nstructure {checksum(structure)}\n" + "".join(sums)
    text += f"seal {checksum(text.encode())}\n"
    path.write_bytes(text.encode().ljust(SEAL_BYTES, b"\0") + data[SEAL_BYTES:])
