"""Writes random spaces with a condition, and which of their genotypes keep it, as Python calculates with fractions.

A line is `BITS<tab>SPACE`: for each genotype, the last parameter fastest, 1 (kept), 0 or - (cannot be calculated).
usage: where_oracle.py COUNT SEED
"""

import ast
import itertools
import json
import random
import sys
from fractions import Fraction

NUMBERS = [["1", "2", "3", "4"], ["-2", "-1", "0", "1", "2"], ["0.1", "0.2", "0.3", "0.7"], ["1e-5", "0.001", "0.3", "250"],
           ["9007199254740992", "9007199254740993"], ["0", "0.5", "1", "16"], ["-0.3", "0.1", "0.30000000000000004"],
           ["1e-12", "3.3e+7", "12345.678"]]
WORDS = [["resnet-50", "vgg16", "1x1"], ["a/b", "x y", "3"], ["true", "in", "it's"], ["sgd", "adam", "2.5"]]


def quoted(word):
    """A word as a condition has it, in one of its spellings."""
    plain = word.isidentifier() and word not in ("true", "in")
    quote = random.choice("'\"")
    return word if plain and random.random() < 0.7 else quote + word.replace(quote, 2 * quote) + quote


class Condition:
    """Makes parts of a condition as two texts: in the language of spaces, and in Python with fractions."""

    def __init__(self, numbers, words):
        self.numbers, self.words = numbers, words

    def literal(self):
        text = random.choice(random.choice(NUMBERS + [["0", "1", "2", "3", "0.3", "0.25", "1e-3", "10"]] * 4)).lstrip("-")
        return text, f"F('{text}')"

    def number(self, depth):
        if depth == 0 or random.random() < 0.2:
            name = random.choice(list(self.numbers))
            return ("$" + name, name) if random.random() < 0.7 else self.literal()
        kind = random.random()
        if kind < 0.1:
            base = self.number(depth - 1)
            exponent = random.choice([2, 3, -1, -2, 0])
            return f"({base[0]}) ** {exponent}", f"({base[1]}) ** {exponent}"
        if kind < 0.2:
            inner = self.number(depth - 1)
            return f"abs({inner[0]})", f"abs({inner[1]})"
        left, right = self.number(depth - 1), self.number(depth - 1)
        if kind < 0.3:
            name = random.choice(["min", "max"])
            return tuple(f"{name}({left[i]}, {right[i]})" for i in (0, 1))
        if kind < 0.35:
            choice = self.condition(0)
            return f"if({choice[0]}, {left[0]}, {right[0]})", f"({left[1]} if {choice[1]} else {right[1]})"
        sign = random.choice(["+", "-", "+", "-", "*", "/", "/", "//", "%"])
        brackets = random.random() < 0.5
        return tuple(f"({left[i]}) {sign} ({right[i]})" if brackets else f"{left[i]} {sign} {right[i]}" for i in (0, 1))

    def comparison(self, depth):
        if self.words and random.random() < 0.3:
            name = random.choice(list(self.words))
            some = random.sample(self.words[name], random.randint(1, 2))
            if random.random() < 0.5:
                sign = random.choice(["==", "!="])
                return f"${name} {sign} {quoted(some[0])}", f"{name} {sign} {some[0]!r}"
            negation = random.choice(["", "not "])
            return f"${name} {negation}in [{', '.join(map(quoted, some))}]", f"{name} {negation}in {some!r}"
        if random.random() < 0.15:
            name = random.choice(list(self.numbers))
            some = random.sample(self.numbers[name], 2)
            negation = random.choice(["", "not "])
            return f"${name} {negation}in [{', '.join(some)}]", f"{name} {negation}in [{', '.join(f'F({each!r})' for each in some)}]"
        sides = [self.number(depth) for _ in range(random.choice([2, 2, 2, 3]))]
        texts = list(sides[0])
        for side in sides[1:]:
            sign = random.choice(["==", "!=", "<", "<=", ">", ">="])
            texts = [texts[i] + f" {sign} " + side[i] for i in (0, 1)]
        return tuple(texts)

    def condition(self, depth):
        if depth == 0 or random.random() < 0.3:
            return self.comparison(random.randint(0, 2))
        if random.random() < 0.25:
            inner = self.condition(depth - 1)
            return f"not ({inner[0]})", f"not ({inner[1]})"
        sides = self.condition(depth - 1), self.condition(depth - 1)
        word = random.choice(["and", "or"])
        return tuple(f"({sides[0][i]}) {word} ({sides[1][i]})" for i in (0, 1))


def result(code, names):
    try:
        return "1" if eval(code, {"F": Fraction}, names) else "0"
    except ZeroDivisionError:
        return "-"


def is_refused(tree, values):
    """Whether a part without parameters cannot be calculated, or a parameter is compared with what it never is."""
    for node in ast.walk(tree):
        names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        if isinstance(node, ast.expr) and names.isdisjoint(values) and not isinstance(node, (ast.Name, ast.List)):
            if result(compile(ast.Expression(node), "", "eval"), {}) == "-":
                return True
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        for left, right, sign in zip(sides, sides[1:], node.ops):
            name, other = (left, right) if isinstance(left, ast.Name) else (right, left)
            never = isinstance(name, ast.Name) and isinstance(other, ast.Call) and other.func.id == "F" and \
                Fraction(other.args[0].value) not in values[name.id]
            if never and isinstance(sign, (ast.Eq, ast.NotEq)):
                return True
    return False


def case():
    numbers = {name: random.choice(NUMBERS) for name in "abc"[:random.randint(1, 3)]}
    words = {name: random.choice(WORDS) for name in "vw"[:random.randint(0, 1)]}
    text, python = Condition(numbers, words).condition(random.randint(0, 3))
    values = {name: [Fraction(each) for each in values] for name, values in numbers.items()} | words
    tree = ast.parse(python, mode="eval")
    if "$" not in text or is_refused(tree, values):
        return "", ""
    code = compile(tree, "", "eval")
    bits = "".join(result(code, dict(zip(values, each))) for each in itertools.product(*values.values()))
    declared = [f"{name}: {{choice: [{', '.join(values)}]}}" for name, values in numbers.items()]
    declared += [f"{name}: {{choice: {json.dumps(values)}}}" for name, values in words.items()]
    return bits, f"{{parameters: {{{', '.join(declared)}}}, where: {json.dumps(text)}}}"


random.seed(int(sys.argv[2]))
left = int(sys.argv[1])
while left > 0:
    bits, space = case()
    # A space of which nothing is kept is refused, as other tests show.
    if "1" in bits:
        print(bits, space, sep="\t")
        left -= 1
