"""sqlite3 says "out of memory" for the statement that does not fit, keeps its data, and answers the next query."""
import limited
from limited import expect

SQL = """
CREATE TABLE small(x); INSERT INTO small VALUES (42);
CREATE TABLE big(x);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) INSERT INTO big SELECT randomblob(1000) FROM n;
SELECT 'big', count(*) FROM big;
INSERT INTO small VALUES (length(zeroblob(100000)));
SELECT 'small', sum(x) FROM small;
"""


def work(way):
    status, out, err = way.run("sqlite3", ":memory:", input=SQL, max_mebibytes=48, control_mebibytes=72)
    expect("out of memory" in err and status == 1, f"the big insert says so itself: {status} {err}")
    expect(out.split() == ["big|0", "small|100042"], f"later statements work: {out}")


limited.check(work, needs=["sqlite3"])
