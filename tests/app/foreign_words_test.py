"""Words of other tools: each is answered where it is refused, and each answer names what there is."""

import json
import re
import unittest

import jsonschema
import yaml

from skyline_runs import SOURCE, RunsCase, small_digits

ROW = re.compile(r"^\| (`.*`) \| (.*) \| (.*) \|$")
METRICS = ("parameters", "flops", "weight_bytes", "latency_ms", "peak_activation_bytes", "validation_accuracy", "validation_loss")
SYNTHETIC = [SOURCE / "configs/synthetic.yaml"]
MOST_KEYS = 30  # Wrong keys are told at once, 40 of them at most, and one wrong value.
TABLE = "## Words of other tools"
COMMAND = """
space: {parameters: {width: {choice: [8, 16]}}}
objectives: [minimize: y]
command: {run: [cat, "{width}"], metrics: {y: {better: lower}}}
search: {algorithm: exhaustive}
"""
NAMES = """
space: {parameters: {normalization: {choice: [a, b]}, batch: {choice: [8, 16]}}}
objectives: [minimize: flops]
command: {run: [cat, "{batch}"], metrics: {acc: {better: higher}, flops: {better: lower}}}
search: {algorithm: exhaustive}
"""
# For each place of the table the settings that put a word there. `{}` is the word.
PLACES = {"a section": ["{}=1", "run.{}=1", "checkpoint.{}=1"],
          "a section, an option": ["{}=1", "run.{}=1", "--{}"],
          "the file, `run`": ["{}=1", "run.{}=1"],
          "the file, `run`, `search`, an option": ["{}=1", "search.{}=1", "--{}"],
          "an option": ["--{}"],
          "an option of `skyline train`": ["train --{}"],
          "`final`": ["final.{}=1"],
          "`search`": ["search.{}=1"],
          "a command": ["{}"],
          "`search.algorithm`": ["search.algorithm={}"],
          "a metric": ["objectives=[{{maximize: {}}}]"],

          "an objective": ["objectives=[{{{}: flops}}]"],
          "`better` of a metric": ["command.metrics.y.better={}"],
          "`space`": ["space.{}=1"],
          "a parameter": ["space.parameters.width.{}=1"],
          "a layer": ["space.network=[{}]"],
          "an item of a network": ["space.network=[{{branch: [[relu]], merge: add, {}: 1}}]"],
          "`training`": ["training.{}=1"],
          "an optimizer": ["training.optimizer={{adam: {{{}: 1}}}}"],
          "`training`, `training.precision`": ["training.{}=1", "training.precision={}"],
          "`training`, `command`, their `device`": ["training.device={}", "command.device={}"],
          "`training.augment`": ["training.augment.{}=1"],
          "`command`": ["command.{}=1"]}


def inside(schema):
    """The schemas of a value: the schema, its alternatives, and those of the items of a list."""
    if isinstance(schema, dict):
        yield schema
        for each in [*schema.get("anyOf", []), *schema.get("oneOf", []), schema.get("items"), schema.get("additionalProperties")]:
            yield from inside(each)


def below(schemas, key):
    """The schemas of a key of these."""
    return [each["properties"][key] for schema in schemas for each in inside(schema) if key in each.get("properties", {})]


def anywhere(schema, key):
    """The schemas of a key, wherever it is."""
    for each in inside(schema):
        for name, value in each.get("properties", {}).items():
            yield from [value] if name == key else []
            yield from anywhere(value, key)


class ForeignWords(RunsCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.own = cls.folder / "command.yaml"
        cls.own.write_text(COMMAND)

    def setUp(self):
        page = self.skyline("schema", "--markdown").stdout
        self.rows = [match.groups() for match in map(ROW.match, page[page.index(TABLE):].splitlines()) if match]
        self.schema = json.loads(self.skyline("schema").stdout)
        self.options = set(re.findall(r"--[a-z-]+", "".join(self.skyline(name, "--help").stdout for name in ("search", "train"))))
        self.commands = set(re.findall(r"^  ([a-z]+) ", self.skyline("--help").stdout, re.MULTILINE))

    def refusals(self, place, setting, words):
        """What the program says where these words stand at a place."""
        if place == "a command":
            return "".join(self.skyline(word, expect=2).stderr for word in words)
        if "--{}" in setting:
            command = ["search"] if setting == "--{}" else []
            return "".join(self.skyline(*command, *setting.format(word.strip("-")).split(), expect=2).stderr for word in words)
        config = [self.own] if setting.startswith("command.") else small_digits(self.digits)
        most = MOST_KEYS if setting.endswith("{}=1") else 1
        batches = [words[begin:begin + most] for begin in range(0, len(words), most)]
        return "".join(self.skyline("validate", *config, *(part for word in batch for part in ("--set", setting.format(word))), expect=2).stderr
                       for batch in batches)

    def test_there_are_many_and_each_is_answered_at_its_place(self):
        expected = {}  # answers by word, by place
        for listed, place, answer in self.rows:
            first, *others = re.findall(r"`([^`]+)`", listed)
            for word in (first, *others):
                named = answer.replace(f"' {first} is", f"' {word} is").replace(f"'s {first} is", f"'s {word} is")
                expected.setdefault(place, {}).setdefault(word, named)
        self.assertGreater(len({word for answers in expected.values() for word in answers}), 100)
        for place, answers in expected.items():
            for setting in PLACES[place]:
                told = self.refusals(place, setting, list(answers))
                for word, answer in answers.items():
                    self.assertRegex(told, rf"(?m)\b{re.escape(word)}\b.*{re.escape(answer)}", f"{place}: {setting}")

    def test_names_that_a_user_chose_are_no_places_of_words(self):
        names = self.folder / "names.yaml"
        names.write_text(NAMES)
        for setting, said in (("command.run=[cat, '{batch_size}']", "`{batch_size}` is unknown, "),
                              ("objectives=[{minimize: num_params}]", "unknown metric `num_params`, known here: acc, flops"),
                              ("objectives=[{minimize: name}]", "unknown metric `name`, known here: acc, flops"),
                              ("space.where=[$batch_size > 8]", "unknown parameter `$batch_size`, "),
                              ("space.where=[$normalization == batch_size]", "`$normalization` is never batch_size, known here: a, b")):
            told = self.skyline("validate", names, "--set", setting, expect=2).stderr
            self.assertIn(said, told)
            self.assertNotRegex(told, "training|parameters` here|--run")

    def test_options_are_answered_by_commands_that_have_what_is_named(self):
        self.assertIn("all files of a run are in the folder of `--run`", self.skyline("search", "--output_dir", "a", expect=2).stderr)
        for command in ("export", "show", "report", "profile"):
            self.assertNotIn("--run", self.skyline(command, "--output_dir", "a", expect=2).stderr)

    def test_each_answer_names_keys_options_and_commands_that_exist(self):
        for listed, _, answer in self.rows:
            named = re.findall(r"`([^`]+)`", answer)
            for part in named:
                with self.subTest(listed, part=part):
                    self.assertTrue(self.exists(part), part)

    def exists(self, part):
        if part.startswith("--"):
            return part in self.options
        if part.startswith(("mpirun ", "skyline ")):
            return part.split("skyline ")[1].split()[0] in self.commands
        if part in METRICS:
            return part in str(self.schema["else"])
        named = yaml.safe_load(part)
        (path, value), = named.items() if isinstance(named, dict) else [(named, None)]
        first, *others = path.split(".")
        schemas = below([self.schema], first) or list(anywhere(self.schema, first))
        for key in others:
            schemas = below(schemas, key)
        return any(value is None or self.may_be(schema, value) for schema in schemas)

    def may_be(self, schema, value):
        """Whether a value is right, or a part of a section, which lacks what that needs beside it."""
        if jsonschema.Draft202012Validator(schema).is_valid(value):
            return True
        return isinstance(value, dict) and all(any(self.may_be(each, inner) for each in below([schema], key)) for key, inner in value.items())


if __name__ == "__main__":
    unittest.main()
