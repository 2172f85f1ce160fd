# SPDX-License-Identifier: MIT
"""What the importer tells of the nodes of a model."""
from collections import Counter

from emit import Emitter
from graph import Original

HEAVY = {"Conv", "ConvTranspose", "Gemm", "MatMul", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool",
         "BatchNormalization", "LayerNormalization", "InstanceNormalization", "LRN", "Softmax", "LogSoftmax",
         "Resize", "Upsample"}
KINDS = ("mapped", "fused", "view", "constant", "dropped", "unsupported")


def counts(emitter: Emitter) -> dict:
    originals = emitter.graph.originals
    became = Counter(o.became for o in originals)
    products = sum(o.products for o in originals)
    done = sum(o.products for o in originals if o.became != "unsupported")
    missing: dict[str, Counter] = {}
    for o in originals:
        if o.became == "unsupported":
            missing.setdefault(o.op, Counter())[o.why] += 1
    return {"nodes": len(originals), "became": {kind: became[kind] for kind in KINDS},
            "launches": len(emitter.launches),
            "heavy": sum(o.op in HEAVY and o.became != "constant" for o in originals),
            "products": products, "share_of_products": done / products if products else 1.0, "missing": missing}


def without_launches(emitter: Emitter) -> str:
    """Why nothing is to be run: the first node that is not supported, or that none computes anything."""
    for o in emitter.graph.originals:
        if o.became == "unsupported":
            return f"{o.op} is not supported: {o.why}"
    return "its outputs are constants, or its inputs as they are"


def print_summary(found: dict) -> None:
    print(f"{found['nodes']} nodes: " + ", ".join(f"{n} {kind}" for kind, n in found["became"].items() if n))
    print(f"{found['launches']} launches, for {found['heavy']} convolutions, products, poolings, normalisations, "
          "softmaxes and resizes")
    print(f"{found['products'] / 1e6:.1f} million multiply-adds, {100 * found['share_of_products']:.1f} % of them in "
          "nodes that are mapped")
    for op, reasons in sorted(found["missing"].items()):
        for why, count in reasons.items():
            print(f"not supported: {count} x {op}: {why}")


def print_replaced(path: str, found: dict) -> None:
    replaced = found["replaced"]
    kept = ", ".join(f"{count} {op}" for op, count in replaced["kept"].items())
    print(f"{path}: {replaced['nodes']} of {found['nodes']} nodes became {replaced['workload_nodes']} nodes "
          f"com.clam::Workload; ONNX Runtime keeps {kept or 'none'}")


def print_table(originals: list[Original]) -> None:
    rows = [(o.op, o.name or next(filter(None, o.outputs), ""), o.became, o.why or o.into) for o in originals]
    widths = [max([len(title), *(len(row[at]) for row in rows)]) for at, title in enumerate(("op", "node", "became"))]
    for row in [("op", "node", "became", "into"), *rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, [*widths, 0])).rstrip())
