"""sqlite3: an in-memory and an on-disk database, sorting, indexes, a transaction rolled back, the integrity check."""
import preloaded

SQL = """
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, value INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
  INSERT INTO item SELECT i, 'name ' || (i * 7919 % 60000), i * i % 9973 FROM n;
CREATE INDEX by_name ON item(name);
SELECT count(*), sum(value), min(name), max(name) FROM item;
SELECT name, value FROM item ORDER BY value DESC, name LIMIT 5;
SELECT value % 10, count(*), group_concat(id % 7) > '' FROM item GROUP BY value % 10;
BEGIN; DELETE FROM item WHERE id % 2; SELECT count(*) FROM item; ROLLBACK;
UPDATE item SET name = name || hex(zeroblob(100)) WHERE id % 5 = 0;
SELECT count(*), total(length(name)) FROM item;
PRAGMA integrity_check;
"""


def work(runner):
    return [runner.run("sqlite3", database, input=SQL) for database in (":memory:", "disk.db")]


preloaded.compare(work, needs=["sqlite3"])
