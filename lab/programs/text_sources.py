"""Writers of generated inputs: repository history, redis keys, SQL, PDF, plain text.

Every writer is deterministic: the same arguments give the same bytes on every machine.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

_SYLLABLES = tuple("ka lo mi ne ra so tu ve xi zo ber dan fil gor".split())


def words(rng: random.Random, count: int) -> list[str]:
    """Returns count pronounceable words of two to four syllables."""
    return ["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))) for _ in range(count)]


def text_lines(count: int, *, seed: int = 1) -> Iterator[str]:
    """Yields count lines of 4 to 16 words, for sort, grep and the compressors."""
    rng = random.Random(seed)
    vocabulary = words(rng, 4096)
    for number in range(count):
        yield f"{number % 997:03d} {' '.join(rng.choices(vocabulary, k=rng.randint(4, 16)))}\n"


def git_history(commits: int, files: int, *, seed: int = 2) -> Iterator[bytes]:
    """Yields a `git fast-import` stream: each commit edits a few of the files by some lines."""
    rng = random.Random(seed)
    vocabulary = words(rng, 2048)
    contents = [[" ".join(rng.choices(vocabulary, k=8)) for _ in range(rng.randint(20, 200))]
                for _ in range(files)]
    fresh = list(range(files))
    for number in range(commits):
        yield b"commit refs/heads/main\nmark :%d\n" % (number + 1)
        name = f"Author {number % 7} <author{number % 7}@example.org>"
        who = f"{name} {1600000000 + number * 60} +0000"
        yield f"author {who}\ncommitter {who}\n".encode()
        message = " ".join(rng.choices(vocabulary, k=6)).encode()
        yield b"data %d\n%s\n" % (len(message), message)
        if number:
            yield b"from :%d\n" % number
        changed = fresh if number == 0 else rng.sample(fresh, k=min(files, rng.randint(1, 6)))
        for index in changed:
            lines = contents[index]
            for _ in range(rng.randint(1, 5)):
                lines[rng.randrange(len(lines))] = " ".join(rng.choices(vocabulary, k=8))
            blob = ("\n".join(lines) + "\n").encode()
            path = f"dir{index % 13}/sub{index % 5}/file{index}.txt"
            yield f"M 100644 inline {path}\n".encode()
            yield b"data %d\n%s\n" % (len(blob), blob)
    yield b"done\n"


def redis_commands(keys: int, *, seed: int = 3) -> Iterator[bytes]:
    """Yields SET commands in the redis protocol, one for each key, values of 8 to 400 bytes."""
    rng = random.Random(seed)
    filler = "".join(words(rng, 400)).encode()
    for number in range(keys):
        key = b"user:%08d:name" % number
        length = rng.choice((8, 16, 24, 40, 64, 100, 180, 400))
        start = rng.randrange(len(filler) - length)
        value = filler[start:start + length]
        yield b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(key), key, len(value), value)


def sqlite_script(rows: int) -> str:
    """Returns SQL that builds a table with three indexes, queries it and checks its integrity."""
    return f"""\
PRAGMA journal_mode = MEMORY;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -65536;
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, city TEXT, amount INTEGER, note TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
INSERT INTO orders
SELECT i, printf('customer-%06d', (i * 7919) % 50021), printf('city-%03d', (i * 31) % 499),
       (i * 2654435761) % 100003, substr(hex(i * 1099511628211), 1, i % 40) FROM n;
CREATE INDEX by_customer ON orders (customer, amount);
CREATE INDEX by_city ON orders (city);
CREATE INDEX by_note ON orders (note);
SELECT count(*), sum(amount), min(customer), max(note) FROM orders;
SELECT city, count(*), sum(amount) FROM orders GROUP BY city ORDER BY 3 DESC LIMIT 20;
SELECT a.customer, count(*) FROM orders a JOIN orders b ON a.note = b.note AND a.id < b.id
WHERE a.id % 9973 = 0 GROUP BY a.customer ORDER BY 2 DESC, 1 LIMIT 20;
SELECT json_group_array(json_object('c', customer, 'a', amount))
FROM (SELECT * FROM orders WHERE city = 'city-042' ORDER BY amount, id LIMIT 50);
UPDATE orders SET note = note || '-x' WHERE id % 5 = 0;
DELETE FROM orders WHERE id % 11 = 0;
SELECT count(*), sum(length(note)) FROM orders;
SELECT group_concat(upper(customer), '|') FROM (SELECT DISTINCT customer FROM orders
WHERE amount > 99000 ORDER BY customer LIMIT 200);
PRAGMA integrity_check;
"""


def pdf_document(pages: int, *, seed: int = 5) -> bytes:
    """Returns a PDF of pages with text in three standard fonts, lines, curves and filled shapes."""
    rng = random.Random(seed)
    vocabulary = words(rng, 512)
    fonts = ("Helvetica", "Times-Roman", "Courier")
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    objects += [f"<< /Type /Font /Subtype /Type1 /BaseFont /{font} >>".encode() for font in fonts]
    page_ids = []
    for _ in range(pages):
        stream = _pdf_page(rng, vocabulary)
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R "
                       b"/Resources << /Font << /F1 3 0 R /F2 4 0 R /F3 5 0 R >> >> >>"
                       % len(objects))
        page_ids.append(len(objects))
    kids = " ".join(f"{number} 0 R" for number in page_ids)
    objects[1] = f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>".encode()
    return _pdf_file(objects)


def _pdf_page(rng: random.Random, vocabulary: list[str]) -> bytes:
    parts = []
    for row in range(60):
        line = " ".join(rng.choices(vocabulary, k=9))
        parts.append(f"BT /F{row % 3 + 1} 9 Tf 40 {800 - row * 13} Td ({line}) Tj ET")
    for _ in range(80):
        x, y, a, b = (rng.randint(20, 560) for _ in range(4))
        grey = rng.random()
        parts.append(f"{grey:.3f} {1 - grey:.3f} 0.5 RG {x} {y} m {a} {y} {x} {b} {a} {b} c S")
        width, height = rng.randint(2, 30), rng.randint(2, 30)
        parts.append(f"{grey:.3f} 0.9 0.8 rg {x} {b} {width} {height} re f")
    return "\n".join(parts).encode()


def _pdf_file(objects: list[bytes]) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    for offset in offsets:
        out += b"%010d 00000 n \n" % offset
    size = len(objects) + 1
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, table)
    return bytes(out)
