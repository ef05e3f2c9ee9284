"""Reads TensorBoard's event files by the format's description alone: no code of ours, none of TensorFlow's."""

import struct


def make_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = make_table()


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """The records, up to one that a killed job left torn."""
    at = 0
    while at + 12 <= len(data):
        header, = struct.unpack_from("<Q", data, at)
        crc, = struct.unpack_from("<I", data, at + 8)
        assert crc == masked_crc(data[at:at + 8]), f"checksum of the length at {at}"
        if at + 16 + header > len(data):
            return
        body = data[at + 12:at + 12 + header]
        crc, = struct.unpack_from("<I", data, at + 12 + header)
        assert crc == masked_crc(body), f"checksum of the record at {at}"
        yield body
        at += 16 + header


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(message):
    """(number, value) of a protocol buffers message."""
    at = 0
    while at < len(message):
        tag, at = varint(message, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(message, at)
        elif kind == 2:
            length, at = varint(message, at)
            value = message[at:at + length]
            at += length
        else:
            form = {1: "<d", 5: "<f"}[kind]
            value, = struct.unpack_from(form, message, at)
            at += struct.calcsize(form)
        yield tag >> 3, value


def parameters(folder):
    """{name: value} of the only file of a folder, as TensorBoard's tab HParams shows them."""
    path, = folder.iterdir()
    _, _, record, *_ = records(path.read_bytes())
    value = dict(fields(dict(fields(dict(fields(record))[5]))[1]))
    assert value[1] == b"_hparams_/session_start_info", value
    plugin = dict(fields(dict(fields(value[9]))[1]))
    assert plugin[1] == b"hparams", plugin
    found = {}
    for _, entry in fields(dict(fields(plugin[2]))[3]):
        name, message = (content for _, content in fields(entry))
        (kind, content), = fields(message)
        found[name.decode()] = {2: float, 3: bytes.decode, 4: bool}[kind](content)
    return found


def scalars(folder):
    """[(step, wall time, {tag: value})] as TensorBoard shows a folder: its files in the order of their names, and
    where a session starts at a step, what was there of that step and later ones is dropped."""
    found = []
    for path in sorted(folder.iterdir()):
        for number, record in enumerate(records(path.read_bytes())):
            event = dict(fields(record))
            step = event.get(2, 0)
            if number == 0:
                assert event[3] == b"brain.Event:2", event
            elif 7 in event:
                assert dict(fields(event[7])) == {1: 1}, event
                found = [earlier for earlier in found if earlier[0] < step]
            elif b"_hparams_" not in record:
                values = [dict(fields(value)) for key, value in fields(event[5]) if key == 1]
                found.append((step, event[1], {value[1].decode(): value[2] for value in values}))
    return found
