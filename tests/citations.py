#!/usr/bin/env python3
"""Whether what the tree cites is there: sections of docs/spec, decisions, mails, links between documents, features.

    tests/citations.py          first its own tests, on made-up citations, then all tracked files

What is understood:

    spec 6.4, spec 2.7, 7.1 to 7.5      headings of docs/spec/placement.md
    spec-new 3.2                        headings of docs/spec/placement-new.md
    decision 6                          headings of docs/spec/design.md
    mail 003, 002/P04                   headings of docs/spec/mails.md
    §1.8                                headings of the page of docs/spec in which it stands; `placement.md §1.8` of that one
    `crates/fair/src/lib.rs`            in documents: a path of the tree
    [text](file.md#anchor)              the file, and its heading; `[text](placement.md) sections 4.1 and 4.2` too

A citation may go on in the next line of a comment. Every feature of policy/features.h is named in docs/spec/placement.md or
docs/spec/placement-new.md.
"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SPEC = "docs/spec/"
PAGES = {"spec": SPEC + "placement.md", "spec-new": SPEC + "placement-new.md"}

# A space, or the end of a line and what begins the next one of a comment.
GAP = r"(?:[ \t]*\n[ \t]*(?://[/!]?|/?\*|#)?[ \t]*|[ \t]+)"
SECTION = r"\d+(?:\.\d+)?"
AND = rf"(?:,{GAP}and|,|{GAP}and|{GAP}to|{GAP}or|[-–]){GAP}?"
# Behind `6.4` another 6.5 belongs to the citation, but a 7 may be anything.
LIST = rf"(?:\d+\.\d+(?:{AND}\d+\.\d+)*|\d+(?:{AND}{SECTION})*)"

CITED = re.compile(rf"\b([Ss]pec|[Ss]pec-new)(?:{GAP}(?:tables?|sections?))?{GAP}({LIST})\b")
DECISION = re.compile(rf"(?<![-\w])decisions?{GAP}(\d{{1,2}})\b(?!\d)")
MAIL = re.compile(rf"\bmails?{GAP}(\d{{3}}(?:(?:,|{GAP}and|{GAP}to){GAP}\d{{3}})*)\b|\b(\d{{3}})/P\d\d\b")
OWN_SECTION = re.compile(r"(?:\b([\w-]+\.md)`? )?§(\d+(?:\.\d+)?)")
LINK = re.compile(rf"\[[^\]]*\]\(([^)\s]+)\)(?:{GAP}sections?{GAP}({LIST}))?")
FOLDERS = "crates|docs|guest|machines|notebooks|policy|published|python|tests|workloads"
PATH = re.compile(rf"`((?:{FOLDERS})/[\w./-]+)`")
FEATURE = re.compile(r'FG_FEATURE\(\s*\w+,\s*"([^"]+)"')

# Test inputs and recorded output are not ours to read.
LEFT_OUT = re.compile(r"^(crates/fuzz/(corpus|found)/|workloads/recorded/|tests/citations\.py$)|\.(snap|svg|ipynb|lock)$")


def without_code(text):
    """Markdown without fenced blocks; as many lines as before."""
    return re.sub(r"(?ms)^```.*?^```", lambda block: "\n" * block[0].count("\n"), text)


def headings(text):
    """The texts of a page's headings, in order."""
    return re.findall(r"(?m)^#+ +(.*?) *$", without_code(text))


def numbers(text):
    """The numbers that headings begin with: `6.4` of `### 6.4 Decision`."""
    return {found[1] for heading in headings(text) if (found := re.match(r"(\d+(?:\.\d+)?)[a-z]?\b", heading))}


def decisions(text):
    return {found[1] for heading in headings(text) if (found := re.match(r"Decision (\d+)\.", heading))}


def anchors(text):
    """What a link to a heading has behind the `#`."""
    seen, out = {}, set()
    for heading in headings(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        count = seen[anchor] = seen.get(anchor, -1) + 1
        out.add(f"{anchor}-{count}" if count else anchor)
    return out


class Tree:
    """Files by their paths, and what can be cited in them."""

    def __init__(self, files):
        self.files = files
        self.sections = {kind: numbers(files.get(page, "")) for kind, page in PAGES.items()}
        self.decisions = decisions(files.get(SPEC + "design.md", ""))
        self.mails = numbers(files.get(SPEC + "mails.md", ""))

    def wrong(self):
        """Each citation that leads nowhere, as `file:line: what`."""
        for path, text in self.files.items():
            if not LEFT_OUT.search(path):
                for offset, what in self.wrong_in(path, text):
                    yield f"{path}:{text.count(chr(10), 0, offset) + 1}: {what}"
        yield from self.features_missing()

    def wrong_in(self, path, text):
        prose = without_code(text) if path.endswith(".md") else text
        for found in CITED.finditer(prose):
            kind = found[1].lower()
            for section in re.findall(SECTION, found[2]):
                if section not in self.sections[kind]:
                    yield found.start(), f"{kind} {section}: {PAGES[kind]} has no such section"
        for found in DECISION.finditer(prose):
            if found[1] not in self.decisions:
                yield found.start(), f"decision {found[1]}: {SPEC}design.md has none"
        for found in MAIL.finditer(prose):
            for number in re.findall(r"\d{3}", found[1] or found[2]):
                if number not in self.mails:
                    yield found.start(), f"mail {number}: {SPEC}mails.md has none"
        if path.startswith(SPEC):
            yield from self.own_sections(path, prose)
        if path.endswith(".md"):
            yield from self.links(path, prose)
        # A change log names what is gone; the specification names folders of kernels.
        if path.endswith(".md") and path != "CHANGELOG.md" and not path.startswith(SPEC):
            for found in PATH.finditer(prose):
                if not self.has(normal(found[1])):
                    yield found.start(), f"{found[1]}: there is no such file"

    def own_sections(self, path, text):
        for found in OWN_SECTION.finditer(text):
            page = SPEC + found[1] if found[1] else path
            if found[2] not in numbers(self.files.get(page, "")):
                yield found.start(), f"§{found[2]}: {page} has no such section"

    def links(self, path, text):
        for found in LINK.finditer(text):
            target, _, anchor = found[1].partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            page = normal(f"{path.rpartition('/')[0]}/{target}") if target else path
            if not self.has(page):
                yield found.start(), f"{found[1]}: there is no {page}"
            elif anchor and anchor not in anchors(self.files.get(page, "")):
                yield found.start(), f"{found[1]}: {page} has no such heading"
            for section in re.findall(SECTION, found[2] or ""):
                if section not in numbers(self.files.get(page, "")):
                    yield found.start(), f"section {section}: {page} has none"

    def has(self, page):
        return page in self.files or any(path.startswith(page.rstrip("/") + "/") for path in self.files)

    def features_missing(self):
        pages = "".join(self.files.get(page, "") for page in PAGES.values())
        known = set(re.findall(r"`([a-z][a-z0-9-]*)`", pages))
        # The patches of mail 002 are one row.
        known |= {f"lb-p{n:02}" for n in range(1, 12)} if {"lb-p01", "lb-p11"} <= known else set()
        for name in FEATURE.findall(self.files.get("policy/features.h", "")):
            if name not in known:
                yield f"policy/features.h: neither {' nor '.join(PAGES.values())} names the feature `{name}`"


def normal(path):
    """`docs/spec/../x.md` as `docs/x.md`."""
    out = []
    for part in path.split("/"):
        if part == ".." and out:
            out.pop()
        elif part not in ("", "."):
            out.append(part)
    return "/".join(out)


def tracked():
    """All text files that git knows, or would take."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    files = {}
    for name in filter(None, names):
        try:
            files[name] = (ROOT / name).read_text("utf-8")
        except UnicodeDecodeError:
            files[name] = ""
        except (FileNotFoundError, IsADirectoryError):
            pass
    return files


class MadeUp(unittest.TestCase):
    """A tree in which this and that leads nowhere."""

    PAGES = {
        PAGES["spec"]: "## 6. Balance\n### 6.4 Amount\n`a-feature` `lb-p01` `lb-p11`\n",
        PAGES["spec-new"]: "### 1.1 Reweight\nas §1.1 and placement.md §6.4\n",
        SPEC + "design.md": "### Decision 6. Fit\n",
        SPEC + "mails.md": "## 003 a-mail\n",
    }

    def wrong(self, **files):
        named = {name.replace("__", "/").replace("_md", ".md").replace("_c", ".c"): text for name, text in files.items()}
        return list(Tree({**self.PAGES, **named}).wrong())

    def test_what_is_there_is_right(self):
        good = "spec 6.4 spec 6, 6.4 Spec 6.4 spec-new 1.1 (design, decision 6) mail 003 003/P04 a spec 6.4, and 9 more"
        self.assertEqual(self.wrong(a_c=good), [])

    def test_a_section_that_is_not_there_is_found_with_file_and_line(self):
        wrong = self.wrong(a_c="fine\n * spec 6.5 */")
        self.assertEqual(wrong, ["a.c:2: spec 6.5: docs/spec/placement.md has no such section"])

    def test_every_section_of_a_list_counts(self):
        for text in ("spec 6.4, 6.5", "spec 6 to 7", "spec 6.4 and 9.1", "spec tables 6.4 and 9.1", "spec 6.3-6.4"):
            self.assertEqual(len(self.wrong(a_c=text)), 1, text)

    def test_a_citation_goes_on_in_the_next_line(self):
        self.assertEqual(len(self.wrong(a_c=" * as spec\n * 6.5 has it\n/// as spec 6.4,\n/// 8.1\n")), 2)

    def test_pages_have_sections_of_their_own(self):
        self.assertEqual(len(self.wrong(a_c="spec 1.1, and spec-new 6.4")), 2)
        self.assertEqual(len(self.wrong(docs__spec__x_md="### 2.1 x\n§2.1 §6.4 placement.md §6.4 placement.md §2.1\n")), 2)

    def test_decisions_and_mails(self):
        self.assertEqual(len(self.wrong(a_c="decision 7, mail 004, mails 003 and 005, 002/P01")), 4)
        self.assertEqual(self.wrong(a_c="--decisions 2000, fairground_decision 4004"), [])

    def test_links(self):
        there = "[a](b.md) [b](b.md#two-words) [c](#one) [d](https://x.org/y.md) [e](spec/placement.md) sections 6 and 6.4\n# One\n"
        self.assertEqual(self.wrong(docs__a_md=there, docs__b_md="## Two words\n"), [])
        for link in ("[a](c.md)", "[b](b.md#three)", "[c](#two)", "[d](../b.md)", "[e](spec/placement.md) section 6.5"):
            self.assertEqual(len(self.wrong(docs__a_md=link, docs__b_md="## Two words\n")), 1, link)

    def test_paths_in_documents(self):
        there = "`docs/b.md`, `docs/`, `cargo test`, `probes/NAME.c`, in `a/docs/c.md`\n"
        self.assertEqual(self.wrong(docs__a_md=there, docs__b_md=""), [])
        wrong = self.wrong(docs__a_md="x\n`docs/c.md`", docs__b_md="", CHANGELOG_md="`docs/c.md`")
        self.assertEqual(wrong, ["docs/a.md:2: docs/c.md: there is no such file"])

    def test_what_commands_show_is_no_citation(self):
        self.assertEqual(self.wrong(docs__a_md="```text\nspec 9.9 [a](b.md)\n```\n"), [])

    def test_a_feature_that_the_specification_does_not_name(self):
        header = 'FG_FEATURE(A, "a-feature", "",\nFG_FEATURE(\n\tB, "b-feature", ""\nFG_FEATURE(C, "lb-p07", ""'
        wrong = list(Tree({**self.PAGES, "policy/features.h": header}).wrong())
        self.assertEqual(wrong, ["policy/features.h: neither docs/spec/placement.md nor docs/spec/placement-new.md names the feature `b-feature`"])


def main():
    tests = unittest.defaultTestLoader.loadTestsFromTestCase(MadeUp)
    if not unittest.TextTestRunner(verbosity=0).run(tests).wasSuccessful():
        return 1
    wrong = list(Tree(tracked()).wrong())
    print("\n".join(wrong) if wrong else "citations: each leads somewhere")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
