"""What the tests of tables share."""

import numpy

from prep_case import PrepCase

ALL = ("--test=0",)


def feature_names(preparation):
    def name(feature):
        if feature.get("is_missing"):
            return feature["column"] + " is missing"
        if "is" in feature:
            return f"{feature['column']} = {feature['is']}"
        return feature["column"] + (" = other" if "is_not" in feature else "")

    return [name(feature) for feature in preparation["features"]]


class TableCase(PrepCase):
    def made(self, text, *options, file="train.csv", others=(), features=None, values=None, classes=None, targets=None, note=None,
             no_note=None):
        """Checks the set that a table makes, and the lines about it."""
        self.write(file, text)
        with self.subTest(text[:60], options=options):
            said = self.read("arrays", file, *others, *options)
            if features is not None:
                self.assertEqual(feature_names(said.preparation()), features)
            if values is not None:
                numpy.testing.assert_allclose(said.array("train/values").ravel(), values, rtol=1e-6)
            if classes is not None:
                self.assertEqual(said.names(), classes)
            if targets is not None:
                numpy.testing.assert_allclose(said.array("train/targets").ravel(), targets, rtol=1e-6)
            if note is not None:
                self.assertIn(note, said.text)
            if no_note is not None:
                self.assertNotIn(no_note, said.text)
            return said

    def refuses(self, text, expected, *options, file="train.csv", others=()):
        self.write(file, text)
        with self.subTest(text[:60], options=options):
            return self.refused(expected, "arrays", file, *others, *options)

    def applied(self, text, run, *options, file="new.csv", targets=False, others=()):
        """Reads new samples for the networks of a set's run. @return  what was said, and the rows"""
        self.write(file, text)
        said = self.apply("arrays", file, *others, *options, run=run.run(), has_targets=targets)
        return said, said.rows

    def learned(self, text, *options):
        """Makes a run's set, whose file stays."""
        said = self.made(text, *ALL, *options)
        said.file = said.file.rename(self.folder / "run.h5")
        return said
