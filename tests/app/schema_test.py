"""`skyline schema`: what the program accepts validates, what it refuses does not, and the page of keys is up to date."""

import json
import re
import unittest

import jsonschema
import yaml

from skyline_runs import SOURCE, RunsCase, small_digits


class Loader(yaml.SafeLoader):
    """Reads 1.0e5 as a number, as YAML 1.2 and the program do."""


Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$"),
                             list("-+.0123456789"))


def load(text):
    return yaml.load(text, Loader)


class Schema(RunsCase):
    def setUp(self):
        super().setUp()
        schema = json.loads(self.skyline("schema").stdout)
        jsonschema.Draft202012Validator.check_schema(schema)
        self.validator = jsonschema.Draft202012Validator(schema)

    def errors(self, tree):
        return [error.message for error in self.validator.iter_errors(tree)]

    def shipped(self):
        return load((SOURCE / "configs/digits.yaml").read_text())

    def assert_refused(self, change, part=""):
        tree = self.shipped()
        change(tree)
        errors = self.errors(tree)
        self.assertTrue(errors)
        self.assertIn(part, " ".join(errors))

    def test_every_shipped_configuration_validates(self):
        for path in sorted((SOURCE / "configs").glob("*.yaml")):
            self.assertEqual(self.errors(yaml.safe_load(path.read_text())), [], path)

    def test_a_configuration_with_all_its_defaults_validates(self):
        for config in (small_digits(self.digits), [SOURCE / "configs/synthetic.yaml"]):
            resolved = load(self.skyline("validate", *config, "--resolved").stdout)
            self.assertEqual(self.errors(resolved), [])

    def test_a_misspelt_key_does_not_validate(self):
        self.assert_refused(lambda tree: tree["training"].update(bacth=16), "bacth")
        self.assert_refused(lambda tree: tree.update(serach={}), "serach")
        self.assert_refused(lambda tree: tree["search"].update(itertions=3))
        self.assert_refused(lambda tree: tree["training"]["optimizer"]["adam"].update(beta_1=0.9))
        self.assert_refused(lambda tree: tree["space"]["network"][0]["body"][0]["conv2d"].update(chanels=3))
        for section in ("data", "space", "training", "search", "run"):
            self.assert_refused(lambda tree: tree[section].update(misspelt=1))
        for section in ("final", "checkpoint"):
            self.assert_refused(lambda tree: tree.update({section: {"misspelt": 1}}))
        self.assert_refused(lambda tree: tree["space"]["parameters"]["depth"].update(ragne=[1, 2]), "ragne")
        self.assert_refused(lambda tree: tree["space"]["network"][0].update(bodi=[]))
        self.assert_refused(lambda tree: tree["space"]["network"].append({"rellu": 3}))  # a word may be a block
        self.assert_refused(lambda tree: tree["objectives"].append({"minimize": "flosp"}), "flosp")
        self.assert_refused(lambda tree: tree.update(constraints=[{"flosp": [0, 1]}]))
        synthetic = load((SOURCE / "configs/synthetic.yaml").read_text())
        synthetic["synthetic"] = {"misspelt": 1}
        self.assertTrue(self.errors(synthetic))

    def test_a_layer_without_an_attribute_that_it_needs_does_not_validate(self):
        self.assert_refused(lambda tree: tree["space"]["network"].append("conv2d"))
        self.assert_refused(lambda tree: tree["space"]["network"].append({"conv2d": {"kernel": 3}}))
        self.assert_refused(lambda tree: tree["space"]["network"].append({"repeat": 2}))

    def test_an_expression_may_stand_for_a_value_and_another_word_may_not(self):
        layer = {"conv2d": {"channels": "$width * 2", "kernel": 3, "padding": "same"}}
        tree = self.shipped()
        tree["space"]["network"].append(layer)
        self.assertEqual(self.errors(tree), [])
        self.assert_refused(lambda tree: tree["space"]["network"].append({"conv2d": {"channels": "three", "kernel": 3}}))
        self.assert_refused(lambda tree: tree["space"]["network"].append({"conv2d": {"channels": 3, "kernel": 0}}))

    def test_a_window_has_a_number_or_two_sides(self):
        for kernel in (3, [3, 1], ["$height", 1]):
            tree = self.shipped()
            tree["space"]["network"].append({"max_pool": {"kernel": kernel}})
            self.assertEqual(self.errors(tree), [])
        for kernel in ([3], [3, 1, 1], [0, 1], [1.5, 1]):
            self.assert_refused(lambda tree: tree["space"]["network"].append({"max_pool": {"kernel": kernel}}))

    def test_an_expression_may_stand_for_what_can_be_searched_of_the_training(self):
        tree = self.shipped()
        tree["training"].update(batch="$batch", optimizer={"sgd": {"learning_rate": "$lr * 2", "nesterov": "$nesterov"}})
        self.assertEqual(self.errors(tree), [])
        self.assert_refused(lambda tree: tree["training"].update(batch="many"))
        self.assert_refused(lambda tree: tree["training"].update(batch=0))
        self.assert_refused(lambda tree: tree["training"].update(epochs="$epochs"))

    def test_a_value_out_of_bounds_or_of_another_type_does_not_validate(self):
        self.assert_refused(lambda tree: tree["training"].update(epochs=0), "minimum")
        self.assert_refused(lambda tree: tree["training"].update(precision="fp8"), "fp8")
        self.assert_refused(lambda tree: tree["run"].update(window="all"))
        self.assert_refused(lambda tree: tree["objectives"].append({"maximise": "flops"}))
        self.assert_refused(lambda tree: tree.update(final={}))

    def test_a_parameter_with_both_or_neither_of_choice_and_range_does_not_validate(self):
        self.assert_refused(lambda tree: tree["space"]["parameters"].update(depth={"choice": [1, 2], "range": [1, 2]}))
        self.assert_refused(lambda tree: tree["space"]["parameters"].update(depth={"weights": [1, 2]}))

    def test_the_attributes_of_layers_have_their_defaults(self):
        layers = self.validator.schema["properties"]["space"]["properties"]["network"]["items"]["anyOf"][1]["properties"]
        conv2d = {name: each.get("default") for name, each in layers["conv2d"]["properties"].items()}
        self.assertEqual(conv2d, {"kernel": None, "channels": None, "stride": 1, "dilation": 1, "padding": "same",
                                  "groups": 1, "bias": True})

    def test_keys_of_another_algorithm_and_a_second_evaluator_do_not_validate(self):
        self.assert_refused(lambda tree: tree["search"].update(algorithm="random"))
        self.assert_refused(lambda tree: tree.update(synthetic={}))
        self.assert_refused(lambda tree: tree.pop("training"))

    def test_the_page_of_keys_is_what_the_program_prints(self):
        page = (SOURCE / "docs/configuration.md").read_text()
        self.assertEqual(page, self.skyline("schema", "--markdown").stdout,
                         "run: skyline schema --markdown > docs/configuration.md")


if __name__ == "__main__":
    unittest.main()
