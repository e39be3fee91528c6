"""Streams, readers, hashes, databases, queues: objects that go on."""

from __future__ import annotations

import asyncio
import concurrent.futures
import csv
import datetime
import hashlib
import io
import shelve
import sqlite3
import struct
import tempfile
import zlib
from contextlib import closing
from typing import Any

from .trap import trap


@trap()
def a_struct_unpacks(t: Any) -> Any:
    memory, form = bytearray(struct.pack("d", 2.0)), struct.Struct("d")
    f = t.capture(lambda x: x * form.unpack_from(memory)[0])
    yield f(t.x)
    form.pack_into(memory, 0, 3.0)
    yield f(t.x)


@trap()
def a_hash_goes_on(t: Any) -> Any:
    one = hashlib.sha256()

    def f(x: Any) -> Any:
        one.update(b"a")
        return x * one.digest()[0]

    g = t.capture(f)
    yield g(t.x)
    yield g(t.x)


@trap()
def a_digest_is_read(t: Any) -> Any:
    one = hashlib.sha256()
    f = t.capture(lambda x: x * one.digest()[0])
    yield f(t.x)
    one.update(b"a")
    yield f(t.x)


@trap()
def a_compressor(t: Any) -> Any:
    one = zlib.compressobj()
    f = t.capture(lambda x: x * (1 + len(one.compress(b"a" * 100000))))
    yield f(t.x)
    yield f(t.x)


@trap()
def a_reader_of_rows(t: Any) -> Any:
    rows = csv.reader(["1", "2", "3"])
    f = t.capture(lambda x: x * float(next(rows)[0]))
    yield f(t.x)
    yield f(t.x)


@trap()
def a_dict_reader(t: Any) -> Any:
    rows = csv.DictReader(["k", "1", "2", "3"])
    f = t.capture(lambda x: x * float(next(rows)["k"]))
    yield f(t.x)
    yield f(t.x)


@trap()
def a_writer_of_rows(t: Any) -> Any:
    stream = io.StringIO()
    writer = csv.writer(stream)

    def f(x: Any) -> Any:
        writer.writerow([1])
        return x * 2

    g = t.capture(f)
    g(t.x)
    g(t.x)
    yield stream.getvalue()


@trap()
def what_a_stream_has(t: Any) -> Any:
    stream = io.StringIO("1")
    f = t.capture(lambda x: x * float(stream.getvalue()))
    yield f(t.x)
    stream.write("2")
    yield f(t.x)


@trap()
def where_a_stream_is(t: Any) -> Any:
    stream = io.BytesIO(b"abc")
    f = t.capture(lambda x: x * stream.tell())
    yield f(t.x)
    stream.read(2)
    yield f(t.x)


@trap()
def the_memory_of_a_stream(t: Any) -> Any:
    stream = io.BytesIO(b"abc")
    f = t.capture(lambda x: x * stream.getbuffer()[0])
    yield f(t.x)
    stream.write(b"z")
    yield f(t.x)


@trap()
def whether_a_stream_is_closed(t: Any) -> Any:
    stream = io.BytesIO(b"abc")
    f = t.capture(lambda x: x * (2.0 if stream.closed else 1.0))
    yield f(t.x)
    stream.close()
    yield f(t.x)


@trap()
def lines_of_a_stream(t: Any) -> Any:
    stream = io.StringIO("1\n2\n3\n")
    f = t.capture(lambda x: x * float(next(stream)))
    yield f(t.x)
    yield f(t.x)


@trap()
def a_file_that_is_open(t: Any) -> Any:
    with tempfile.TemporaryFile("w+") as file:
        file.write("1\n2\n")
        file.seek(0)
        f = t.capture(lambda x: x * float(next(file)))
        yield f(t.x)
        yield f(t.x)


@trap()
def a_database(t: Any) -> Any:
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("create table a (k real)")
        base.execute("insert into a values (2)")
        f = t.capture(lambda x: x * base.execute("select k from a").fetchone()[0])
        yield f(t.x)
        base.execute("update a set k = 3")
        yield f(t.x)


@trap()
def a_shelf(t: Any) -> Any:
    one: Any = shelve.Shelf({})
    one["k"] = 2.0
    f = t.capture(lambda x: x * one["k"])
    yield f(t.x)
    one["k"] = 3.0
    yield f(t.x)


@trap()
def a_future(t: Any) -> Any:
    one: Any = concurrent.futures.Future()
    f = t.capture(lambda x: x * (one.result() if one.done() else 1.0))
    yield f(t.x)
    one.set_result(3.0)
    yield f(t.x)


@trap()
def work_in_a_pool(t: Any) -> Any:
    k = 2.0
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        f = t.capture(lambda x: x * pool.submit(lambda: k).result())
        yield f(t.x)
        k = 3.0
        yield f(t.x)


@trap()
def a_queue_of_asyncio(t: Any) -> Any:
    one: Any = asyncio.Queue()
    for i in range(3):
        one.put_nowait(float(i + 1))
    f = t.capture(lambda x: x * one.get_nowait())
    yield f(t.x)
    yield f(t.x)


@trap()
def a_date_is_made(t: Any) -> Any:
    day = datetime.date(2000, 1, 5)
    f = t.capture(lambda x: x * day.day)
    yield f(t.x)
    day = day.replace(day=7)
    yield f(t.x)


@trap()
def a_duration_of_a_class_of_ones_own(t: Any) -> Any:
    class Zone(datetime.tzinfo):
        hours = 2

        def utcoffset(self, when: Any) -> Any:
            return datetime.timedelta(hours=self.hours)

    moment = datetime.datetime(2000, 1, 1, tzinfo=Zone())
    f = t.capture(lambda x: x * moment.utcoffset().total_seconds())
    yield f(t.x)
    Zone.hours = 3
    yield f(t.x)
