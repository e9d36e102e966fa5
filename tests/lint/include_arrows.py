"""Includes follow the arrows: tools -> accounting; preload -> alloc -> accounting -> accounting/base -> libc.

Of alloc/, only accounted_hooks.* sees accounting (its base and its public headers apart), so that the allocator stays
complete without it. The libraries use of the standard library only what needs nothing at run time.
"""
import re

from sources import Findings, LIBRARIES, exceptions, text_of, tracked

# Templates and constants only: no symbol of libstdc++.so can come from these.
HEADER_ONLY_STANDARD = {
    "algorithm", "array", "atomic", "bit", "cerrno", "climits", "compare", "concepts", "cstdarg", "cstddef", "cstdint",
    "cstdio", "cstdlib", "cstring", "ctime", "initializer_list", "limits", "new", "numeric", "span", "type_traits",
    "utility",
}

# Not part of any library: instantiated by tests and benchmarks alone.
MEASURED = "accounting/linux/"

# A folder may include what begins with one of these; the longest folder that fits a file counts.
ARROWS = {
    "accounting/base": ("accounting/base/",),
    "accounting/linux": ("accounting/",),
    "accounting": ("accounting/",),
    "alloc": ("alloc/", "accounting/base/"),
    "alloc/accounted_hooks": ("alloc/", "accounting/"),
    "preload": ("preload/", "alloc/", "accounting/"),
    "tools": ("tools/", "accounting/"),
    "tools/tenant-server": ("tools/", "accounting/", "alloc/"),
    "tools/examples": ("tools/", "accounting/", "alloc/"),
}


def arrows_of(path):
    name = str(path)
    fitting = [prefix for prefix in ARROWS if name == prefix or name.startswith((prefix + "/", prefix + "."))]
    return ARROWS[max(fitting, key=len)] if fitting else None


def public_owner(name, public):
    """The folder that owns <allot/NAME>."""
    return next((folder for folder in ("accounting", "alloc") if f"{folder}/include/{name}" in public), None)


def check(path, public, accepted, findings):
    allowed = arrows_of(path)
    if allowed is None or str(path) in accepted:
        return 0
    library = path.parts[0] in LIBRARIES and not str(path).startswith(MEASURED)
    is_public = "include/allot" in str(path)
    for line, text in enumerate(text_of(path).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', text)
        if not match:
            continue
        bracket, name = match.groups()
        if name.startswith("allot/"):
            owner = public_owner(name, public)
            if owner is None:
                findings.add(path, line, f"<{name}> is no public header")
            elif owner == "alloc" and path.parts[0] == "accounting":
                findings.add(path, line, f"accounting knows nothing of alloc, yet includes <{name}>")
        elif bracket == '"':
            if "/" not in name:
                findings.add(path, line, f'"{name}" is not written from the root')
            elif not name.startswith(allowed):
                findings.add(path, line, f'"{name}" is against the arrows; allowed here: {", ".join(allowed)}')
            elif name.startswith("accounting/linux/") and not str(path).startswith("accounting/linux/"):
                findings.add(path, line, "accounting/linux is for bench and tests alone")
        elif library and not is_public and "." not in name and name not in HEADER_ONLY_STANDARD:
            findings.add(path, line, f"<{name}> may need libstdc++ at run time")
    return 1


def main():
    findings = Findings()
    public = {str(path) for path in tracked(".h", ".hpp", ".def") if "include/allot" in str(path)}
    accepted = exceptions("include_arrows")
    looked_at = sum(check(path, public, accepted, findings) for path in tracked(".c", ".h", ".cpp", ".hpp", ".def"))
    findings.exit(looked_at)


main()
