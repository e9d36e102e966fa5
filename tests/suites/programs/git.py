"""git: a repository with history, cloned, repacked by two threads, checked; every object name must come out the same."""
import preloaded

IDENTITY = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_CONFIG_NOSYSTEM": "1"}


def work(runner):
    def git(*arguments, at="origin"):
        return runner.run("git", "-C", at, *arguments, env=dict(IDENTITY, GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date))[0]

    date = "2020-01-01T00:00:00Z"
    (runner.scratch / "origin").mkdir()
    git("init", "-q", "-b", "main")
    for revision in range(12):
        date = f"2020-01-{revision + 1:02}T00:00:00Z"
        for number in range(60):
            lines = (f"{number * 31 + line * revision % 17} some text that compresses\n" for line in range(200))
            runner.file(f"origin/folder{number % 7}/file{number}", "".join(lines))
        git("add", "-A")
        git("commit", "-qm", f"revision {revision}")
    git("clone", "-q", "--no-hardlinks", "--no-local", ".", "../copy")
    git("repack", "-adfq", "--threads=2", at="copy")
    git("fsck", "--strict", at="copy")
    return git("rev-parse", "HEAD", at="copy"), git("log", "--stat", "--oneline", at="copy"), git("ls-tree", "-r", "HEAD", at="copy")


preloaded.compare(work, needs=["git"])
