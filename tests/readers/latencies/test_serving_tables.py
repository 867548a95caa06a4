"""Tables of aiconfigurator and vidur, written small here: what a row means, what is left out, and files that are none."""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ridgeline.core import ReadError
from ridgeline.readers.latencies import LatencyReader
from ridgeline.readers.latencies.aiconfigurator import Aiconfigurator
from ridgeline.readers.latencies.folder import Folder
from ridgeline.readers.latencies.testing import LatencyReaderConformance
from ridgeline.readers.latencies.vidur import Vidur

parquet: Any = pytest.importorskip("pyarrow.parquet")
pyarrow: Any = pytest.importorskip("pyarrow")

COMMON = {"framework": "VLLM", "version": "0.24.0", "device": "NVIDIA H200", "kernel_source": "kernel"}


def table(place: Path, operator: str, **columns: list[Any]) -> Path:
    count = len(next(iter(columns.values())))
    path = place / "h200" / operator / "vllm" / "0.24.0" / f"{operator}_perf.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.table({**{name: [text] * count for name, text in COMMON.items()}, "op_name": [operator] * count, **columns}), path)
    return path


class TestAiconfigurator:
    def test_products(self, tmp_path: Path) -> None:
        table(tmp_path, "gemm", gemm_dtype=["bfloat16", "fp8_block", "nvfp4"], m=[1, 2, 3], n=[32, 64, 128], k=[256, 512, 1024],
              latency=[0.001, 0.002, 0.003], power=[300.0, 400.0, 500.0], power_limit=[700.0] * 3)  # fmt: skip
        reader, folder = Aiconfigurator(), Folder(tmp_path)
        assert reader.sniff(folder)
        found = reader.read(folder)
        assert found.texts("kind") == ["gemm"] * 3
        assert found.texts("device") == ["NVIDIA H200 SXM 141GB"] * 3
        assert found.texts("precision") == ["bf16", "fp8", "fp4"]
        assert found.texts("variant") == ["linear", "linear block", "linear"]
        assert found.latency_s.values.tolist() == [1e-6, 2e-6, 3e-6]
        assert found.optional("power_w").tolist() == [300.0, 400.0, 500.0]
        assert [found.dimension(name).tolist() for name in "mnk"] == [[1, 2, 3], [32, 64, 128], [256, 512, 1024]]
        assert found.place(1).endswith("gemm_perf.parquet row 2")
        assert not found.excluded
        assert reader.networks(folder) == ()

    def test_attention_of_both_phases(self, tmp_path: Path) -> None:
        common = {
            "num_heads": [32],
            "num_key_value_heads": [8],
            "head_dim": [128],
            "attn_dtype": ["bfloat16"],
            "kv_cache_dtype": ["fp8"],
            "latency": [1.0],
        }
        table(tmp_path, "context_attention", batch_size=[4], isl=[1024], step=[0], window_size=[128], **common)
        table(tmp_path, "generation_attention", batch_size=[64], isl=[1], step=[4095], **common)
        found = Aiconfigurator().read(Folder(tmp_path))
        assert found.texts("variant") == ["cache fp8"] * 2
        assert [found.dimension(name).tolist() for name in ("queries", "keys", "window", "causal", "kv_heads", "batch")] == [
            [1024, 1], [1024, 4096], [128, 0], [1, 1], [8, 8], [4, 64],
        ]  # fmt: skip

    def test_experts_sums_and_what_is_no_measurement(self, tmp_path: Path) -> None:
        table(tmp_path, "moe", moe_dtype=["fp8_block"], num_tokens=[8], hidden_size=[4096], inter_size=[1536], topk=[8], num_experts=[128],
              moe_tp_size=[2], moe_ep_size=[4], distribution=["balanced"], latency=[0.5])  # fmt: skip
        table(tmp_path, "all_reduce", allreduce_dtype=["bfloat16"], num_gpus=[8], message_size=[2**20], backend=["vllm_graph"], latency=[0.1])
        table(tmp_path, "compute_scale", m=[8, 9], k=[8, 8], quant_dtype=["fp8"] * 2, latency=[0.1, 0.1])
        table(tmp_path, "mla_context_module", batch_size=[8], latency=[0.1])
        table(tmp_path, "something_new", batch_size=[8], latency=[0.1])
        found = Aiconfigurator().read(Folder(tmp_path))
        assert sorted(zip(found.texts("kind"), found.texts("variant"), strict=True)) == [
            ("collective", "all-reduce graph"),
            ("moe", "block balanced"),
        ]
        moe = found.rows(found.values("kind") == found.kinds.index("moe"))
        assert [moe.dimension(name).tolist() for name in ("inner", "experts", "active", "expert_ranks")] == [[768], [128], [8], [4]]
        reasons = {each.reason: each.events for each in found.excluded}
        assert len(reasons) == 3
        assert reasons["a difference of two kernels, no measurement of one"] == 2

    def test_rows_that_cannot_be_are_counted(self, tmp_path: Path) -> None:
        nan = float("nan")
        table(tmp_path, "gemm", gemm_dtype=["bfloat16"] * 5, m=[1, 2, 3, -4, 5], n=[8] * 5, k=[8] * 5, latency=[1.0, nan, 0.0, 1.0, 1.0],
              power=[100.0, 100.0, 100.0, 100.0, -1.0])  # fmt: skip
        found = Aiconfigurator().read(Folder(tmp_path))
        assert found.dimension("m").tolist() == [1]
        assert {each.reason: each.events for each in found.excluded} == {
            "a latency that cannot be": 2, "sizes that cannot be": 1, "a power that cannot be": 1,
        }  # fmt: skip

    def test_a_single_file_and_another_system(self, tmp_path: Path) -> None:
        path = table(tmp_path, "gemm", gemm_dtype=["fp6"], m=[1], n=[8], k=[8], latency=[1.0], device=["A New GPU"])
        found = Aiconfigurator().read(Folder(path))
        assert found.devices == ("A New GPU",)
        assert found.precisions == ("fp6",)

    def test_files_that_are_none(self, tmp_path: Path) -> None:
        path = table(tmp_path, "gemm", gemm_dtype=["bfloat16"] * 300, m=list(range(1, 301)), n=[8] * 300, k=[8] * 300, latency=[1.0] * 300)
        whole = path.read_bytes()
        for content in (b"", b"PAR1", b"version https://git-lfs.github.com/spec/v1\n", whole[:-20], whole[20:], b"PAR1" + whole[-200:]):
            other = tmp_path / "other.parquet"
            other.write_bytes(content)
            if content:
                assert not Aiconfigurator().sniff(Folder(other))
        # Its footer is right, its rows are not.
        path.write_bytes(whole[:4] + bytes(len(whole) // 2) + whole[4 + len(whole) // 2 :])
        with pytest.raises(ReadError):
            Aiconfigurator().read(Folder(path))

    def test_columns_that_are_missing_or_none_of_numbers(self, tmp_path: Path) -> None:
        with pytest.raises(ReadError, match="no k"):
            Aiconfigurator().read(Folder(table(tmp_path / "a", "gemm", gemm_dtype=["bfloat16"], m=[1], n=[8], latency=[1.0])))
        with pytest.raises(ReadError, match="numbers in latency"):
            Aiconfigurator().read(Folder(table(tmp_path / "b", "gemm", gemm_dtype=["bfloat16"], m=[1], n=[8], k=[8], latency=["fast"])))
        with pytest.raises(ReadError, match="without gaps"):
            Aiconfigurator().read(Folder(table(tmp_path / "c", "gemm", gemm_dtype=["bfloat16"], m=[None], n=[8], k=[8], latency=[1.0])))
        with pytest.raises(ReadError, match="several operators"):
            Aiconfigurator().read(Folder(table(tmp_path / "d", "mla_context_module", latency=[1.0])))


LAYER = (
    "emb",
    "input_layernorm",
    "attn_pre_proj",
    "attn_rope",
    "attn_post_proj",
    "post_attention_layernorm",
    "mlp_up_proj",
    "mlp_act",
    "mlp_down_proj",
    "add",
)
MODEL = "n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,num_tensor_parallel_workers"


def layer(place: Path, *rows: str) -> Path:
    path = place / "compute" / "a100" / "maker" / "model" / "mlp.csv.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    header = ",".join(f"time_stats.{name}.median" for name in LAYER) + "," + MODEL
    path.write_bytes(gzip.compress("\n".join([header, *rows, ""]).encode()))
    return path


class TestVidur:
    times = "0.01,0.02,0.03,0.04,0.05,0.06,0.07,0.08,0.09,0.1"

    def test_a_layer_cut_over_two(self, tmp_path: Path) -> None:
        layer(tmp_path, f"{self.times},32,8,4096,14336,32000,True,100,2")
        reader, folder = Vidur(), Folder(tmp_path)
        assert reader.sniff(folder)
        assert not Aiconfigurator().sniff(folder)
        found = reader.read(folder)
        assert found.devices == ("NVIDIA A100 SXM 80GB",)
        assert found.precisions == ("fp16",)
        by_time = {round(time * 1e3, 3): row for row, time in enumerate(found.latency_s.values)}

        def sizes(milliseconds: float, *names: str) -> list[int]:
            return [int(found.dimension(name)[by_time[milliseconds]]) for name in names]

        assert sizes(0.03, "m", "n", "k") == [100, (32 + 16) * 128 // 2, 4096]
        assert sizes(0.05, "m", "n", "k") == [100, 4096, 2048]
        assert sizes(0.07, "m", "n", "k") == [100, 14336, 4096]
        assert sizes(0.09, "m", "n", "k") == [100, 4096, 7168]
        assert sizes(0.08, "elements", "inputs") == [100 * 7168, 2]
        assert sizes(0.1, "elements", "inputs") == [100 * 4096, 2]
        assert sizes(0.01, "rows", "width", "indices") == [32000, 4096, 100]
        assert sizes(0.02, "rows", "columns") == [100, 4096]

    def test_repeats_missing_operators_and_rounding(self, tmp_path: Path) -> None:
        other = self.times.replace("0.03", "0.05").replace("0.06,", ",").replace("0.1", "0")
        layer(tmp_path, *[f"{times},32,32,4096,16384,32000,False,8,1" for times in (self.times, other, other)], f"{self.times},32,32,x,1,1,False,8,1")
        found = Vidur().read(Folder(tmp_path))
        pre = [row for row in range(len(found)) if found.dimension("n")[row] == 3 * 4096]
        assert len(found) == 10
        assert found.latency_s.values[pre].tolist() == [5e-5]
        reasons = {each.reason.split(" (")[0].split(":")[0]: each.events for each in found.excluded}
        assert reasons == {"a latency that cannot be": 2, "sizes that cannot be": 1, "measured again": 16}

    def test_collectives(self, tmp_path: Path) -> None:
        path = tmp_path / "network" / "h100_dgx" / "all_reduce.csv"
        path.parent.mkdir(parents=True)
        path.write_text(
            "time_stats.all_reduce.median,rank,num_workers,size,collective,devices_per_node\n0.04,0,2,2048,all_reduce,2\n0.06,1,2,2048,all_reduce,2\n"
        )
        found = Vidur().read(Folder(tmp_path))
        assert found.latency_s.values.tolist() == [5e-5]
        assert found.dimension("elements").tolist() == [1024]
        assert found.dimension("ranks").tolist() == [2]

    def test_a_device_that_the_path_does_not_name(self, tmp_path: Path) -> None:
        path = tmp_path / "mlp.csv.gz"
        path.write_bytes(layer(tmp_path, f"{self.times},32,8,4096,14336,32000,True,100,2").read_bytes())
        with pytest.raises(ReadError, match="a device in the path"):
            Vidur().read(Folder(path))

    def test_damaged_and_empty(self, tmp_path: Path) -> None:
        path = layer(tmp_path)
        with pytest.raises(ReadError, match="none in"):
            Vidur().read(Folder(tmp_path))
        path.write_bytes(layer(tmp_path, *[f"{self.times},32,8,4096,14336,32000,True,{tokens},2" for tokens in range(1, 5000)]).read_bytes()[:-500])
        found = Vidur().read(Folder(tmp_path))
        assert 10 < len(found) < 49990
        assert any(each.reason.startswith("cut-short") for each in found.excluded)
        path.write_bytes(path.read_bytes()[:12])
        with pytest.raises(ReadError):
            Vidur().read(Folder(tmp_path))


@cache
def aiconfigurator_example() -> Mapping[str, bytes]:
    """Two operators of one system."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        paths = [
            table(place, "gemm", gemm_dtype=["bfloat16", "fp8"], m=[1, 12], n=[32, 64], k=[256, 512], latency=[0.0011, 0.002], power=[310.5, 401.0]),
            table(place, "encoder_attention", batch_size=[1], isl=[1024], num_heads=[8], head_dim=[64], attn_dtype=["bfloat16"], latency=[0.11]),
        ]
        return {path.relative_to(place).as_posix(): path.read_bytes() for path in paths}


class TestAiconfiguratorKeepsTheContract(LatencyReaderConformance):
    def reader(self) -> LatencyReader:
        return Aiconfigurator()

    def example(self) -> Mapping[str, bytes]:
        return aiconfigurator_example()


class TestVidurKeepsTheContract(LatencyReaderConformance):
    def reader(self) -> LatencyReader:
        return Vidur()

    def example(self) -> Mapping[str, bytes]:
        with tempfile.TemporaryDirectory() as name:
            times = TestVidur.times
            path = layer(Path(name), f"{times},32,8,4096,14336,32000,True,100,2", f"{times},32,8,4096,14336,32000,True,101,1")
            return {path.relative_to(name).as_posix(): path.read_bytes()}
