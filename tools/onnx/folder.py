# SPDX-License-Identifier: MIT
"""Writes the workload's folder: as a whole, or not at all."""
import json
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import onnxruntime
import xxhash

from emit import Emitter, Tensor
from graph import fresh
from problems import Refused


@contextmanager
def new_folder(path: str, replace: bool) -> Iterator[str]:
    """A folder beside `path` that takes its place at the end, and is gone if anything fails."""
    path = path.rstrip("/") or path
    if os.path.lexists(path) and not (replace and os.path.isfile(os.path.join(path, "workload.json"))):
        more = "it is no workload, so move it away" if replace else "take another name, or replace it by --force"
        raise Refused(f"'{path}' is there already: {more}")
    partial = f"{path}.partial-{os.getpid()}"
    try:
        os.makedirs(os.path.join(partial, "raw"))
    except OSError as error:
        raise Refused(f"the folder '{partial}' cannot be made: {error.strerror}") from None
    try:
        yield partial
        shutil.rmtree(os.path.join(partial, "raw"))
        _sync(partial)
        old = f"{path}.old-{os.getpid()}"
        if os.path.lexists(path):
            os.rename(path, old)
        os.rename(partial, path)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _sync(folder: str) -> None:
    for where, _, names in os.walk(folder):
        for name in [*names, "."]:
            handle = os.open(os.path.join(where, name), os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)


class Names:
    """ONNX's names as words that clam takes, each once; `changed` has what they were."""

    def __init__(self, wanted: list[str]) -> None:
        self.plain = {name for name in wanted if self.clean(name) == name}
        self.changed: dict[str, str] = {}
        self.made: dict[tuple[str, str], str] = {}

    @staticmethod
    def clean(name: str) -> str:
        word = re.sub(r"[/:]", ".", name.removeprefix("/"))
        return re.sub(r"[^A-Za-z0-9_.-]", "_", word).lstrip(".") or "_"

    def of(self, kind: str, name: str) -> str:
        if (kind, name) not in self.made:
            word = self.clean(name)
            if word != name:
                word = fresh(word, self.plain, self.changed)
                self.changed[word] = name
            self.made[kind, name] = word
        return self.made[kind, name]


class Writer:
    def __init__(self, emitter: Emitter, folder: str, whole: bool = True) -> None:
        self.emitter = emitter
        self.folder = folder
        self.whole = whole  # what ONNX Runtime made is recorded for each tensor, else for outputs alone
        self.count = 0
        self.names = Names([*emitter.tensors, *(launch["name"] for launch in emitter.launches)])
        self.needed = self._needed()
        self.inputs = [name for name in emitter.graph.model.shapes if name in self.needed]

    def write(self, about: str, title: str, file: str) -> None:
        graph = self.emitter.graph
        os.makedirs(os.path.join(self.folder, "tensors"))
        tensors = {self.tensor(name): self._entry(name, self.emitter.tensors[name]) for name in self.needed}
        nodes = [{**launch, "name": self.names.of("node", launch["name"]), "inputs": self._tensors(launch["inputs"]),
                  "outputs": self._tensors(launch["outputs"])} for launch in self.emitter.launches]
        kept = {launch["name"] for launch in self.emitter.launches}
        originals = [{"name": o.name or next(filter(None, o.outputs), ""), "op": o.op, "became": o.became,
                      **({"into": self.names.of("node" if o.into in kept else "tensor", o.into)} if o.into else {}),
                      **({"why": o.why} if o.why else {}), "products": o.products} for o in graph.originals]
        proto = graph.model.proto
        model = {"file": file, "opset": graph.opset,
                 "producer": f"{proto.producer_name} {proto.producer_version}".strip(),
                 "onnxruntime": onnxruntime.__version__, "inputs": [self.tensor(n) for n in self.inputs],
                 "outputs": [self.tensor(n) for n in graph.outputs], "names": self.names.changed, "nodes": originals}
        name = re.sub(r"[^A-Za-z0-9._-]", "_", os.path.splitext(file)[0]).lstrip(".") or "model"
        whole = {"clam_workload": 1, "name": name, "title": title, "about": about, "columns": [], "model": model,
                 "tensors": tensors, "nodes": nodes}
        with open(os.path.join(self.folder, "workload.json"), "w", encoding="utf-8") as out:
            json.dump(whole, out, indent=1)
            out.write("\n")

    def tensor(self, name: str) -> str:
        return self.names.of("tensor", name)

    def _tensors(self, names: dict[str, str]) -> dict[str, str]:
        return {key: self.tensor(name) for key, name in names.items()}

    def _needed(self) -> list[str]:
        """What launches and the model's outputs use, with what that lies in; in the order of the making. An input
        that became a part of problem lines, as extents and axes do, is used by none."""
        graph = self.emitter.graph
        wanted = {*graph.outputs}
        for launch in self.emitter.launches:
            wanted.update(launch["inputs"].values(), launch["outputs"].values())
        wanted |= {name for name, t in self.emitter.tensors.items()
                   if self.whole and t.known and t.values is None and name not in graph.model.shapes}
        todo = list(wanted)
        while todo:
            tensor = self.emitter.tensors[todo.pop()]
            more = {*tensor.parts, *([tensor.view_of] if tensor.view_of else [])} - wanted
            wanted |= more
            todo.extend(more)
        return [name for name in self.emitter.tensors if name in wanted]

    def _entry(self, name: str, tensor: Tensor) -> dict:
        entry: dict = {"shape": list(tensor.shape), "dtype": "i32" if tensor.integer else "f32"}
        if tensor.view_of:
            entry["view_of"] = self.tensor(tensor.view_of)
            if tensor.first:
                entry["first"] = tensor.first
        if tensor.parts:
            entry["parts"] = [self.tensor(part) for part in tensor.parts]
        if tensor.values is not None:
            entry["values"] = self._file(name, tensor.values, tensor)
        elif tensor.known and name in self.emitter.graph.recording and (self.whole or name in self.emitter.graph.outputs):
            entry["recorded"] = self._file(name, self.emitter.graph.recording.value(name), tensor)
        return entry

    def _file(self, name: str, values: np.ndarray, tensor: Tensor) -> dict:
        if tensor.integer and values.size and not (-2**31 <= values.min() and values.max() < 2**31):
            raise Refused(f"tensor '{name}' holds whole numbers beyond 32 bits: clam has 32 bits only")
        file = f"tensors/{self.count:04d}.npy"
        self.count += 1
        path = os.path.join(self.folder, file)
        with np.errstate(over="ignore"):
            kept = np.ascontiguousarray(values, np.int32 if tensor.integer else np.float32)
            np.save(path, kept.reshape(tensor.shape))
        hasher = xxhash.xxh3_128()
        with open(path, "rb") as written:
            while block := written.read(1 << 20):
                hasher.update(block)
        return {"file": file, "bytes": os.path.getsize(path), "xxh3": hasher.hexdigest()}
