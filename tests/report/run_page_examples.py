"""Runs the Python examples of a page, one after another, with another run folder in place of the page's.

usage: run_page_examples.py PAGE FOLDER_IN_PAGE FOLDER
"""

import re
import sys

page, folder_in_page, folder = sys.argv[1:]
with open(page, encoding="utf-8") as file:
    examples = re.findall(r"^```python\n(.*?)^```", file.read(), re.DOTALL | re.MULTILINE)
for example in examples:
    exec(compile(example.replace(folder_in_page, folder), page, "exec"), {})
print(f"{len(examples)} examples")
