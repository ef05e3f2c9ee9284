"""Every link of a page leads somewhere, and the index lists every page."""

import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
del sys.argv[1:2]
PAGES = sorted([*SOURCE.glob("*.md"), *(SOURCE / "docs").rglob("*.md"), *(SOURCE / "data").glob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^\s*```.*?^\s*```$", re.MULTILINE | re.DOTALL)


def text_of(page):
    """Without examples, in which brackets mean something else."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page):
    """The anchors that GitHub makes from headings."""
    headings = re.findall(r"^#+ (.*)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page):
    for target in LINK.findall(text_of(page)):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        place = (page.parent / file).resolve() if file else page
        if not place.exists() or (anchor and anchor not in anchors(place)):
            yield f"{page.relative_to(SOURCE)}: {target}"


class Pages(unittest.TestCase):
    def test_every_link_leads_to_a_page_and_to_a_heading_of_it(self):
        self.assertEqual([link for page in PAGES for link in broken_links(page)], [])

    def test_the_index_lists_every_page(self):
        index = text_of(SOURCE / "docs/index.md")
        missing = [page.relative_to(SOURCE / "docs").as_posix() for page in sorted((SOURCE / "docs").rglob("*.md"))
                   if page.name != "index.md" and f"]({page.relative_to(SOURCE / 'docs').as_posix()})" not in index]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
