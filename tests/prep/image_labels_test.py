"""Groups and labels of images: in names of files, and in tables beside them."""

import json
import unittest

from image_case import ImagesCase


class Groups(ImagesCase):
    def test_images_of_one_group_stay_in_one_part(self):
        for name in ("cat", "dog"):
            for person in "abcdef":
                for shot in "123":
                    self.grey(f"{name}/{person}/{person}_{shot}.pgm", 2 * person)
        for by in ("folder", "name"):
            said = self.made("--group", by, "--validation", 0.2)
            parts = [set(self.part(said, part)) for part in ("train", "validation", "test")]
            self.assertEqual(len(said.array("train/groups")), len(said.array("train/targets")))
            self.assertTrue(all(parts), by)
            self.assertEqual(sum(map(len, parts)), 6, by)
            self.assertIn("6 groups of images, e.g. `a` (--group)", said.lines)
        self.grey("cat/loose.pgm", "zz")
        self.refuse("cat/loose.pgm: expected a folder below that of its class, named like its group (--group=folder)", "--group", "folder")
        self.refuse("cat/loose.pgm: expected a name that begins with its group, up to `_` or `-` (--group=name)", "--group", "name")

    def test_classes_and_groups_may_be_in_any_place_of_the_names(self):
        for number, person in enumerate("abcdef"):
            for label in "01":
                self.grey(f"{label}_{person}x_{number}.pgm", person + label)
        self.put("odd.pgm", b"P5\n2 1\n255\nab")
        said = self.made("--labels", "{class}_*", "--group", "*_{group}_*")
        self.assertIn(f"check: {self.images}: files without a name like {{class}}_* are not read: 1 .pgm", said.lines)
        self.assertIn("6 groups of images, e.g. `ax` (--group)", said.lines)
        self.assertEqual(said.names(), ["0", "1"])
        parts = [set(self.part(said, part)) - {"0", "1"} for part in ("train", "test")]
        self.assertEqual((parts[0] & parts[1], parts[0] | parts[1]), (set(), {*"abcdef"}))
        self.refuse("0_ax_0.pgm: expected a name like *-{group}-* (--group)", "--labels", "{class}_*", "--group", "*-{group}-*")
        self.refuse("--labels=*+{class}: found no image with such a name, e.g. `0_ax_0.pgm`", "--labels", "*+{class}")
        for wrong in ("*_{person}_*", "{group}{group}", "**{group}", "*_{group}_{class}", "*_*_*_*_{group}"):
            self.refuse(f"--group: expected a pattern with {{group}} once, at most 3 `*`, and a text between them, e.g. *_{{group}}_*, got {wrong}",
                        "--labels", "{class}_*", "--group", wrong)

    def test_groups_may_be_in_a_column_of_the_table_of_labels(self):
        rows = [f"{person}{number}.pgm,{'xy'[number % 2]},{person}" for person in "abcdef" for number in range(4)]
        for row in rows:
            self.grey(row.partition(",")[0], 2 * row[0])
        self.put("labels.csv", "file,kind,person\n" + "\n".join(rows) + "\n")
        said = self.made("--group", "person")
        self.assertIn(f"{self.images}/labels.csv: files by `file`, classes by `kind` (--labels, --label)", said.lines)
        parts = [set(self.part(said, part)) for part in ("train", "test")]
        self.assertEqual((parts[0] & parts[1], len(parts[0] | parts[1])), (set(), 6))
        self.refuse("--group: no column `day`, known here: file, kind, person", "--group", "day")
        self.put("labels.csv", "file,kind,person\n" + "\n".join(rows).replace(",f", ",") + "\n")
        self.refuse(f"{self.images}/labels.csv:22: `person`: the group is missing", "--group", "person")
        self.refuse("--group: expected `none`, `folder`, `name`, a pattern such as *_{group}_*, or a column of a table of labels, which is "
                    "not read here, got `person`", "--labels", "names", "--group", "person")

    def test_a_group_in_two_parts_is_refused(self):
        for name in ("train/cat/ann_1.pgm", "train/dog/bob_1.pgm", "test/cat/cy_1.pgm"):
            self.grey(name, "ab")
        self.assertEqual(len(self.made("--group", "name").array("test/targets")), 1)
        self.grey("test/dog/ann_2.pgm", "cd")
        self.refuse("test/dog/ann_2.pgm: its group `ann` is in the train set, too", "--group", "name")


    def test_files_of_the_same_bytes_are_drawn_into_one_part(self):
        for name in "ab":
            for number in range(20):
                self.grey(f"{name}/{number:02}.pgm", name + "pqrstuvwxyzABCDEFGHI"[number])
            for number in range(3):
                self.grey(f"{name}/same{number}.pgm", name + "p")
        said = self.made()
        self.assertIn("8 samples of 46 equal others: equal ones are drawn into one part (--equal-samples)", said.lines)
        for seed in range(5):
            said = self.made("--seed", seed)
            parts = [self.part(said, part) for part in ("train", "test")]
            for same in ("ap", "bp"):
                self.assertEqual(sorted(part.count(same) for part in parts), [0, 4])
        self.assertNotIn("equal others", self.made("--equal-samples", "apart").text)
        self.assertNotIn("equal others", self.made("--test", 0).text)


class Labels(ImagesCase):
    def test_a_table_of_labels_beside_the_images_is_read(self):
        for number in range(6):
            self.grey(f"images/{number}.pgm", 2 * "abcdef"[number])
        self.put("labels.csv", "filename,label\n" + "".join(f"{number}.pgm,{'ab'[number % 2]}\n" for number in range(6)))
        said = self.made("--test", 0)
        self.assertEqual(said.names(), ["a", "b"])
        self.assertEqual(self.part(said, "train"), "aacceebbddff")
        self.assertIn(f"{self.images}/labels.csv: files by `filename`, classes by `label` (--labels, --label)", said.lines)
        self.put("labels.csv", "label,file\n" + "".join(f"{number % 2},{number}\n" for number in range(6)))
        self.assertEqual(self.part(self.made("--test", 0), "train"), "aacceebbddff", "labels that could be names of files")
        self.grey("images/extra.pgm", "xy")
        self.put("labels.csv", "id,label,age\n0,1,30\nimages/1.pgm,2,40\nnone,1,50\n2,1,60\n3,,60\n5,10,9\n")
        said = self.made("--test", 0)
        self.assertEqual((said.names(), self.part(said, "train")), (["1", "2", "10"], "aaccbbff"))
        self.assertIn(f"check: {self.images}/labels.csv: 1 of 6 rows name no file, e.g. that of `none`", said.lines)
        self.assertIn(f"check: {self.images}/labels.csv: 1 of 6 rows have no class, e.g. that of `3`", said.lines)
        self.assertIn(f"check: {self.images}: files without a row in labels.csv are not read: 3 .pgm", said.lines)

    def test_tables_of_labels_in_the_folders_of_parts_are_read(self):
        for part, letters in (("train", "abcd"), ("test", "ef")):
            for letter in letters:
                self.grey(f"{part}/{letter}.pgm", 2 * letter)
            rows = "".join(f"{letter}.pgm,a text of {letter},{'xy'[ord(letter) % 2]}\n" for letter in letters)
            self.put(f"{part}/metadata.csv", "file_name,text,label\n" + rows)
        said = self.made()
        self.assertEqual((said.names(), self.part(said, "train"), self.part(said, "test")), (["x", "y"], "bbddaacc", "ffee"))

    def test_a_table_that_cannot_be_used_is_refused(self):
        for name in ("images/0.pgm", "images/1.pgm", "images/2.pgm"):
            self.grey(name, "ab")
        self.grey("other/0.pgm", "ab")
        self.put("labels.csv", "file,label\n0.pgm,a\n1.pgm,b\n2.pgm,b\n")
        self.refuse(f"{self.images}/images/0.pgm and {self.images}/other/0.pgm: `0.pgm` may be either: write paths into the table",
                    "--labels=labels.csv")
        self.put("labels.csv", "file,label\nother\\0.pgm,a\n/home/me/images/1.pgm,b\n2.pgm,b\n")
        self.assertEqual(self.made("--labels=labels.csv").array("train/targets").tolist(), [0, 1, 1])
        (self.images / "other/0.pgm").unlink()
        (self.images / "other").rmdir()
        for table, words in (("file,kind,colour\n0,a,b\n1,b,c\n",
                              "labels.csv:1: which column has the classes? Name it by --label: `kind`, `colour`"),
                             ("file,label\n0,a\n0,b\n", "labels.csv:3: IMAGES/images/0.pgm has two classes, `a` and `b`: expected one"),
                             ("file,label\n0,a\n1,a\n", "IMAGES: expected at least 2 classes, got `a` alone"),
                             ("file,label\n7,a\n8,b\n", "labels.csv: no column names files below IMAGES, e.g. `7` is none")):
            self.put("labels.csv", table)
            self.refuse(words.replace("IMAGES", str(self.images)))
        self.put("labels.csv", "file,kind,colour\n0,a,b\n1,b,c\n")
        self.assertEqual(self.made("--label", "colour").names(), ["b", "c"])
        self.refuse("--labels: expected `folders`, `names`, a pattern with {class}, or a table in", "--labels", "none.csv")
        self.refuse("got 1", "--labels", "folders")

    def test_a_table_of_hugging_face_may_be_lines_of_json(self):
        for letter in "abcd":
            self.grey(f"{letter}.pgm", 2 * letter)
        lines = [json.dumps({"file_name": f"{letter}.pgm", "label": ord(letter) % 2, "objects": {"bbox": []}}) for letter in "abcd"]
        self.put("metadata.jsonl", "\n".join(lines))
        said = self.made("--test", 0)
        self.assertEqual((said.names(), self.part(said, "train")), (["0", "1"], "bbddaacc"))
        self.put("metadata.jsonl", "\n".join([lines[0], "[1]"]))
        self.refuse("metadata.jsonl:2: expected an object of JSON, as Hugging Face's metadata.jsonl has on each line")

    def test_a_table_may_have_a_column_for_each_class(self):
        for letter in "abcd":
            self.grey(f"{letter}.pgm", 2 * letter)
        self.put("labels.csv", "image,MEL,NV,BCC\na,0.0,1.0,0.0\nb,1.0,0.0,0.0\nc,0.0,1.0,0.0\nd,0.0,0.0,1.0\n")
        said = self.made("--test", 0)
        self.assertEqual((said.names(), self.part(said, "train")), (["BCC", "MEL", "NV"], "ddbbaacc"))
        self.assertIn(f"{self.images}/labels.csv: files by `image`, classes by the 1 in one of 3 columns (--labels, --label)", said.lines)
        for table, words in (("image,MEL,NV\na,1,1\nb,0,1\n", "which column has the classes? Name it by --label: `MEL`, `NV`"),
                             ("image\na\nb\n", "expected a column with the classes beside that of the files")):
            self.put("labels.csv", table)
            self.refuse(f"labels.csv:1: {words}")

    def test_names_may_begin_with_their_class(self):
        self.grey("a.pgm", "ab")
        self.refuse(f"{self.images}: 1 image and no folders: expected a folder for each class, or a table labels.csv beside the images, whose "
                    "columns have the files and their classes")
        self.refuse(f"{self.images}: --labels=names: expected names of images that begin with their class, as cat.17.jpg, found none, e.g. "
                    "`a.pgm`", "--labels=names")
        (self.images / "a.pgm").unlink()
        for name in ("cat", "dog"):
            for number in range(3):
                self.grey(f"train/{name}.{number}.pgm", name[0] + str(number))
            self.grey(f"test/{name}.0.pgm", name[0] + "t")
        self.grey("test1/7.pgm", "xy")
        said = self.made()
        self.assertEqual((said.names(), self.part(said, "train"), self.part(said, "test")), (["cat", "dog"], "c0c1c2d0d1d2", "ctdt"))
        self.assertIn(f"check: {self.images}: classes by the beginnings of the files' names, e.g. `cat` (--labels=folders: by folders)",
                      said.lines)
        self.assertIn(f"check: {self.images}: files without a name that begins with a class are not read: 1 .pgm", said.lines)
        for path in self.images.rglob("*.*.pgm"):
            path.rename(path.with_name(path.name.replace(".", "_", 1)))
        self.assertEqual(self.made("--labels=names").names(), ["cat", "dog"])

    def test_a_table_beside_folders_of_classes_is_told(self):
        self.grey("a/1.pgm", "ab")
        self.grey("b/2.pgm", "cd")
        self.put("labels.csv", "file,label\n1.pgm,x\n2.pgm,y\n")
        said = self.made()
        self.assertIn(f"check: {self.images}/labels.csv: not read, since each class has a folder (--labels=labels.csv reads the classes "
                      "there)", said.lines)
        self.assertEqual(said.names(), ["a", "b"])
        self.assertEqual(self.made("--labels=labels.csv").names(), ["x", "y"])

    def test_names_of_classes_are_compared_in_one_form_of_unicode(self):
        for name in ("train/caf\u00e9", "train/th\u00e9", "test/cafe\u0301", "train/the\u0301"):
            self.grey(f"{name}/1.pgm", "ab")
        said = self.made()
        self.assertEqual(said.names(), ["caf\u00e9", "th\u00e9"])
        self.assertEqual((said.array("train/targets").tolist(), said.array("test/targets").tolist()), ([0, 1, 1], [0]))
        self.assertIn("differs from that of another folder in the form of Unicode alone: both are one class", said.text)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
