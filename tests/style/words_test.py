"""Comments can be read without the code, and sentences of pages and messages are short."""

import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv[1]).resolve()
del sys.argv[1:2]
PAGES = sorted([*SOURCE.glob("*.md"), *(SOURCE / "docs").rglob("*.md"), *(SOURCE / "data").glob("*.md")])
SOURCES = sorted([*(SOURCE / "python").rglob("*.py"), *(file for folder in ("include", "src", "tests")
                  for file in (SOURCE / folder).rglob("*") if file.suffix in {".hpp", ".cpp", ".cu", ".js"})])
MOST_WORDS = 40
# A comment that begins so continues the name below it or beside it, and says nothing by itself.
STUMPS = re.compile(r"(Of|That|Those|By|To|As|Such|Likewise|Who|Whose|Whom)\b")
TRAILING_STUMPS = re.compile(STUMPS.pattern + r"|(of|those|that of|what|as|for|from|by)\b")
COMMENT = re.compile(r"\s*(?://[/!]?<?|#) ?(.*)")
TRAILING = re.compile(r"[^\s/].*?\s(?://[/!]?<?|#) ?(.*)")
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
FENCE = re.compile(r"^\s*```.*?^\s*```$", re.MULTILINE | re.DOTALL)
CELL = re.compile(r"(?<!\\)\|")
# Comments and characters are matched so that the quotes in them begin no text.
LITERAL = re.compile(r"""//[^\n]*|/\*.*?\*/|(?<!\w)\d(?:'?\w)*|'(?:\\.|[^'\\\n])+'|"""
                     r"""R"([^()\\\s]*)\((?P<raw>.*?)\)\1"|"(?P<text>(?:\\.|[^"\\\n])*)\"""", re.DOTALL)


def stumps(text):
    """Numbers and texts of the lines with which a comment begins that cannot be read alone."""
    in_comment = False
    for number, line in enumerate(text.splitlines(), 1):
        alone = COMMENT.fullmatch(line)
        found = alone or TRAILING.search(TEXT.sub('""', line))
        beginnings = STUMPS if alone else TRAILING_STUMPS
        if found and not (alone and in_comment) and beginnings.match(found.group(1)):
            yield number, found.group(1)
        # A line of slashes alone separates paragraphs, of which each is a comment of its own.
        in_comment = bool(found and found.group(1).strip())


def sentences(text):
    """The sentences of a page: paragraphs, items of lists and cells of tables, without examples and headings."""
    lines = FENCE.sub("", text).splitlines()
    prose = "\n".join("" if line.lstrip().startswith(("#", "<")) else
                      "\n\n".join(["", *CELL.split(line), ""]) if line.lstrip().startswith("|") else line for line in lines)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)", prose):
        yield from re.split(r"(?<=[.!?:])[)\"*]*\s+(?=[^a-z\s])", " ".join(block.split()))


def messages(source):
    """The texts of a C++ source; adjacent literals are one text, and a line feed ends it. Lists of bare words are none."""
    texts, end = [""], 0
    for token in LITERAL.finditer(source):
        text = token["raw"] if token["raw"] is not None else token["text"]
        if text is not None:
            if source[end:token.start()].strip():
                texts.append("")
            texts[-1] += text.replace("\\n", "\n\n")
            end = token.end()
    return [text for text in texts if re.search(r"[.,:;]", text)]


def long_sentences(text):
    return [sentence for sentence in sentences(text) if len(sentence.split()) > MOST_WORDS]


class Words(unittest.TestCase):
    maxDiff = None

    def test_finds_a_comment_that_continues_the_name_below_it(self):
        for line in ("// Of all tensors.", "  /// To be called once.", "int a;  // Those of the front.",
                     "///< Whose turn it is.", "a = 1  # Such as rows.",
                     "int a;  // of all tensors", "int a;  ///< that of the file", "a = 1  # for a person",
                     "    {},  // what is left", "a = [  # by name"):
            self.assertEqual(len(list(stumps("int b;\n" + line))), 1, line)

    def test_accepts_a_comment_that_is_a_sentence(self):
        for line in ("// Total bytes of all tensors.\n// Of these, the buffers are last.", "// Thatcher's law.",
                     "int a;  // total bytes of all tensors", "int a;  // forests", "int a;  // that is all",
                     "// these are many\n// of all tensors", 'auto url = "http://To";', 'auto url = "http://of";',
                     "// Asks once.",
                     'text += "epochs: 1  # of a trial";'):
            self.assertEqual(list(stumps(line)), [], line)

    def test_finds_a_long_sentence_and_no_example(self):
        long = "word " * (MOST_WORDS + 1)
        self.assertEqual(len(long_sentences(f"Short.\n* {long}\nends. Short.")), 1)
        self.assertEqual(long_sentences(f"# {long}\n<b>{long}\n\n```\n{long}\n```\n" + "Five words are no more. " * 20), [])

    def test_finds_a_long_sentence_in_a_cell_of_a_table(self):
        half, long = "word " * (MOST_WORDS // 2 + 1), "word " * (MOST_WORDS + 1)
        self.assertEqual(len(long_sentences(f"Text\n| short | {long}|\n|---|---|\n| {long}| short |")), 2)
        self.assertEqual(long_sentences(f"| {half}| {half}|\n|---|---|\n| {half}. Word {half}| {half}|\n{half}"), [])
        self.assertEqual(len(long_sentences(rf"| `a \| b` {half} \| {half}|")), 1)

    def test_finds_a_long_sentence_in_a_message(self):
        half, long = "word " * (MOST_WORDS // 2 + 1), "a list, " * (MOST_WORDS // 2 + 1)
        found = lambda source: [sentence for text in messages(source) for sentence in long_sentences(text)]
        self.assertEqual(len(found(f'fail("{long}");\nconst char* kText = R"({long})";')), 2)
        self.assertEqual(len(found(f'fail("expected: {half}"\n     "{half}");')), 1)
        self.assertEqual(found(f'fail("{half}, " + name + "{half}", "{half}.\\n{half}");  // "{long}\n'
                               f"constexpr char kQuote = '\"';  // 1'000\n// {long}\nwords = \"{half}{half}\";"), [])

    def test_every_comment_can_be_read_without_the_code(self):
        found = [f"{file.relative_to(SOURCE)}:{number}: {line}" for file in SOURCES
                 for number, line in stumps(file.read_text(encoding="utf-8"))]
        self.assertEqual("\n".join(found), "")

    def test_no_sentence_of_a_page_is_long(self):
        found = [f"{page.relative_to(SOURCE)}: {len(sentence.split())} words: {sentence}" for page in PAGES
                 for sentence in long_sentences(page.read_text(encoding="utf-8"))]
        self.assertEqual("\n".join(found), "")

    def test_no_sentence_of_a_message_is_long(self):
        files = [file for file in SOURCES if file.suffix in {".hpp", ".cpp", ".cu"} and
                 file.relative_to(SOURCE).parts[0] in {"include", "src"}]
        found = [f"{file.relative_to(SOURCE)}: {len(sentence.split())} words: {sentence}" for file in files
                 for text in messages(file.read_text(encoding="utf-8")) for sentence in long_sentences(text)]
        self.assertEqual("\n".join(found), "")


if __name__ == "__main__":
    unittest.main()
