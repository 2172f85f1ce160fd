# SPDX-License-Identifier: MIT
"""Runs the tests of the importer, or those whose name has a word: a line each, and the sum as the last line."""
import sys
import time
import unittest


class Result(unittest.TextTestResult):
    def words(self, test) -> str:
        return test.id().split(".test_")[-1].replace("_", " ") if ".test_" in test.id() else test.id()

    def startTest(self, test) -> None:  # noqa: N802
        super().startTest(test)
        self.start = time.monotonic()

    def stopTest(self, test) -> None:  # noqa: N802
        super().stopTest(test)
        bad = [t for t, _ in self.failures + self.errors if t is test or getattr(t, "test_case", None) is test]
        skipped = [why for t, why in self.skipped if t is test]
        line = "FAILED  " if bad else "skipped " if skipped else "ok      "
        seconds = time.monotonic() - self.start
        took = f" ({seconds:.0f} s)" if seconds >= 2 else ""
        print(line + self.words(test) + took + "".join(f": {why}" for why in skipped), flush=True)


def main() -> int:
    names = [f"{module}_test" for module in ("rewrites", "refusals", "yolo", "onnxruntime", "networks", "nodes")]
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{word}*" for word in sys.argv[1:]] or None
    runner = unittest.TextTestRunner(sys.stderr, resultclass=Result, verbosity=0, warnings="ignore")
    result = runner.run(loader.loadTestsFromNames(names))
    # A test may have failed in several of its cases.
    failed = len({getattr(t, "test_case", t).id() for t, _ in result.failures + result.errors})
    skipped = len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0 if result.testsRun > skipped else 77


sys.exit(main())
