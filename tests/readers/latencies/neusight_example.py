"""A made-up folder in NeuSight's layout: no figure of it was measured."""

from __future__ import annotations

import gzip

HEAD = "OPName,Latency,Device,Torch Version,Kernel Name,Kernels"
NODES = "op,target,meta,input_shapes,input_contiguous,fw_latency,bw_latency,acc_latency,output_shape,dtype,Name"
LAYER = "\"{'nn_module_stack': OrderedDict([('h.layers.0', 1)])}\""


def table(columns: str, *rows: str) -> bytes:
    return gzip.compress("\n".join([f"{HEAD},{columns}", *rows, ""]).encode(), mtime=0)


def row(operator: str, latency: float | str, device: str, *sizes: int) -> str:
    return f'{operator},{latency},{device},p2.1.0,"a<float, 4>",";a<float, 4>",{",".join(map(str, sizes))}'


def node(target: str, shapes: str, result: str, forward: float, backward: float = 0.0, dtype: str = "torch.float32", order: str = "[True]") -> str:
    return f'call,{target},{LAYER},"{shapes}","{order}",{forward},{backward},0,"{result}",{dtype},n'


def example() -> dict[str, bytes]:
    collect, label = "data/dataset/train/collect", "label/Tesla_T4"
    return {
        f"{collect}/linear/p2.1.0/Tesla_T4.csv.gz": table("B,M,N,K", row("linear", 0.5, "Tesla T4", 1, 256, 64, 512)),
        f"{collect}/bmm/p2.1.0/Tesla_T4.csv.gz": table("B,M,N,K", row("bmm", 0.25, "Tesla T4", 16, 128, 64, 32)),
        f"{collect}/add/p2.1.0/Tesla_T4.csv.gz": table("B,H", row("add", 0.125, "Tesla T4", 100, 200), row("add", "nan", "Tesla T4", 7, 7)),
        f"{collect}/powu/p2.1.0/Tesla_T4.csv.gz": table("B,H", row("powu", 0.125, "Tesla T4", 100, 200), row("powu", 0.1, "Tesla X9", 7, 7)),
        f"{collect}/softmax/p2.1.0/Tesla_T4.csv.gz": table("B,H", row("softmax", 0.0625, "Tesla T4", 100, 200)),
        f"{collect}/conv/p2.1.0/Tesla_T4.csv.gz": table(
            "B,Input_Channel,Output_Channel,Kernel_Szie,Input_Size,Stride,Padding", row("conv", 2.0, "Tesla T4", 8, 3, 16, 3, 32, 2, 1)
        ),
        "data/dataset/train/elem.csv.gz": table("B,H,large", row("add", 0.126, "Tesla T4", 100, 200) + ",True"),
        "data/micro/bmm.csv": b"Device,coef,intercept,BW,SingleFLOPs,invcoef\nTesla_T4,1e-13,0.0,320,8141,1e13\nNVIDIA_L4,2e-13,0.0,300,30000,5e12\n",
        "fp16mm.csv": b",B,M,N,K,Latency,pred,err\n0,1,2,3,4,0.5,0.5,0\n",
        f"{label}/tiny-inf-64-2.json": b'{"num_layer": 3, "e2e_latency": 6.0, "fw_latency": 6.0, "bwall_latency": 0}',
        f"{label}/tiny-inf-64-2.csv.gz": gzip.compress(
            "\n".join([
                NODES, node("h.layers.0.query", "[[2, 64, 128]]", "(2, 64, 256)", 1.5),
                node("h.layers.0.dropout", "[[2, 64, 256]]", "(2, 64, 256)", 0.01),
                node("<built-in function matmul>", "[[2, 4, 64, 32], [2, 4, 32, 64]]", "(2, 4, 64, 64)", 0.25),
                node("<built-in function softmax>", "[[2, 4, 64, 64]]", "(2, 4, 64, 64)", 0.125),
                node("size", "[[2, 64]]", "(1,)", 0.01), node("contiguous", "[[2, 64, 128]]", "(2, 64, 128)", 0.05, order="[False]"),
                node("contiguous", "[[2, 64, 128]]", "(2, 64, 128)", 0.01), "",
            ]).encode(), mtime=0,
        ),
        f"{label}/tiny-train-64-2.json": b'{"num_layer": 1, "e2e_latency": 30.0, "fw_latency": 20.0, "bwall_latency": 10.0}',
        f"{label}/tiny-train-64-2.csv.gz": gzip.compress(
            "\n".join([NODES, node("h.layers.0.dropout", "[[2, 64, 256]]", "(2, 64, 256)", 1.0, 2.0), ""]).encode(), mtime=0
        ),
    }  # fmt: skip
