# SPDX-License-Identifier: MIT
"""tools/import-onnx: an ONNX file as a folder that clam takes as a workload. See tools/README.md."""
import argparse
import json
import os
import sys

import onnx

import emit
import model
import passes
import record
import replace
import summary
from folder import Writer, new_folder
from graph import Graph
from mappers_maps import MAPPERS
from problems import Refused


class Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise Refused(f"{message}; see --help")


def main(words: list[str]) -> int:
    try:
        run(_parse(words))
    except Refused as reason:
        print(f"import-onnx: {reason}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 1
    return 0


def _parse(words: list[str]) -> argparse.Namespace:
    parser = Parser(prog="tools/import-onnx", description="Makes a workload folder of an ONNX file: its ops, its "
                    "weights, and each tensor as ONNX Runtime computes it without optimisations.")
    parser.add_argument("model", metavar="MODEL.onnx")
    parser.add_argument("-o", dest="folder", metavar="FOLDER", required=True, help="what is made")
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=1x3x640x640",
                        help="the shape of an input, where the model leaves it open")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=x.npy", help="the values of an input")
    parser.add_argument("--image", action="append", default=[], metavar="NAME=p.png",
                        help="a picture as input: resized, scaled to 0..1, less ImageNet's mean over its deviation")
    parser.add_argument("--seed", type=int, default=1, help="of the noise that other inputs are (1)")
    parser.add_argument("--reseed", type=int, metavar="N",
                        help="replace weights that are one number by noise of seed N")
    parser.add_argument("--force", action="store_true", help="replace FOLDER if it is there")
    parser.add_argument("--replace", metavar="NEW.onnx", help="write the model with nodes com.clam::Workload")
    parser.add_argument("--table", action="store_true", help="print what each node became")
    parser.add_argument("--json", metavar="FILE", help="write the summary's numbers")
    return parser.parse_args(words)


def _pairs(flag: str, given: list[str]) -> dict[str, str]:
    pairs = {}
    for text in given:
        name, equals, value = text.rpartition("=")
        if not equals or not name or not value:
            raise Refused(f"--{flag} {text}: needs NAME=VALUE, where NAME is an input of the model")
        pairs[name] = value
    return pairs


def _shapes(options: argparse.Namespace, arrays: dict[str, str]) -> dict[str, tuple[int, ...]]:
    shapes = {name: record.load_array(name, path).shape for name, path in arrays.items()}
    for name, text in _pairs("shape", options.shape).items():
        try:
            shapes[name] = tuple(int(extent) for extent in text.split("x"))
        except ValueError:
            raise Refused(f"--shape {name}={text}: needs extents with x between, such as 1x3x640x640") from None
    return shapes


def _file_of(name: str) -> str:
    """A path, or the file of a model that the onnx package brings: light_squeezenet."""
    packaged = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light", f"{name}.onnx")
    return packaged if not os.path.exists(name) and os.path.isfile(packaged) else name


def run(options: argparse.Namespace) -> None:
    arrays, images = _pairs("input", options.input), _pairs("image", options.image)
    if min(options.seed, options.reseed or 0) < 0:
        raise Refused("a seed is 0 or more")
    if options.replace and os.path.lexists(options.replace) and not options.force:
        raise Refused(f"'{options.replace}' is there already: take another name, or replace it by --force")
    loaded = model.load(_file_of(options.model), _shapes(options, arrays), options.reseed)
    model.require_inputs([*arrays, *images], loaded.shapes)
    model.fix_parameters(loaded, arrays)
    if options.replace and loaded.fixed:
        raise Refused(f"--replace: input '{min(loaded.fixed)}' says a shape or axes, which cannot change any more: "
                      "give it as weights of the model")
    with new_folder(options.folder, options.force) as folder:
        inputs = record.make_inputs(loaded, arrays, images, options.seed)
        recording = record.record(loaded, inputs, os.path.join(folder, "raw"))
        model.check_maps(loaded, recording)
        graph = Graph(loaded, recording)
        passes.rewrite(graph)
        emitter = emit.emit(graph, MAPPERS)
        if not emitter.launches:
            raise Refused(f"nothing of {loaded.file} is left to run: {summary.without_launches(emitter)}")
        given = "given values" if arrays or images else f"noise of seed {options.seed}"
        about = (f"Imported from {loaded.file} by tools/import-onnx. The inputs are {given}; recorded tensors are ONNX "
                 "Runtime's, with optimisations off.")
        writer = Writer(emitter, folder)
        writer.write(about, f"{loaded.file}, imported", loaded.file)
        found = summary.counts(emitter)
        if options.replace:
            split = replace.Split(writer)
            replaced, found["replaced"] = split.write(folder, options.folder), split.counts()
        if options.json:
            try:
                with open(options.json, "w", encoding="utf-8") as out:
                    json.dump(found, out, indent=1)
            except OSError as error:
                raise Refused(f"--json {options.json} cannot be written: {error.strerror}") from None
    if options.table:
        summary.print_table(graph.originals)
    summary.print_summary(found)
    if options.replace:
        replace.save(replaced, options.replace)
        summary.print_replaced(options.replace, found)
    print(f"{options.folder}: {found['became']['unsupported']} unsupported nodes")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
