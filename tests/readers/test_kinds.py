"""What a name stands for."""

from __future__ import annotations

import pytest

from ridgeline.readers.kinds import bare_call, call_kind, device_kind, iteration_of, system_call_kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "communication"),
        ("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "communication"),
        ("void sglang::cross_device_reduce_1stage<__half, 2>(RankData*)", "communication"),
        ("all-reduce-start.5", "communication"),
        ("reduce_kernel<512, 1>", "compute"),
        ("Memcpy DtoH (Device -> Pageable)", "copy"),
        ("__amd_rocclr_copyBuffer", "copy"),
        ("CopyHostToDevice", "compute"),  # the format that uses this word says what it is in another column
        ("Memset", "fill"),
        ("__amd_rocclr_fillBufferAligned", "fill"),
        ("void vectorized_elementwise_kernel<4, FillFunctor<float>>", "compute"),
        ("void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm>", "compute"),
    ],
)
def test_kernels(name: str, kind: str) -> None:
    assert device_kind(name) == kind


@pytest.mark.parametrize(
    ("symbol", "name", "kind"),
    [
        ("cudaLaunchKernel_v7000", "cudaLaunchKernel", "runtime"),
        ("cudaMemcpyAsync_v3020", "cudaMemcpyAsync", "runtime"),
        ("cudaMemcpy_v3020", "cudaMemcpy", "wait"),
        ("cudaMemcpy2DAsync_ptsz_v7000", "cudaMemcpy2DAsync_ptsz", "runtime"),
        ("cuMemcpyDtoH_v2", "cuMemcpyDtoH_v2", "wait"),
        ("cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync_v2", "runtime"),
        ("cudaDeviceSynchronize_v3020", "cudaDeviceSynchronize", "wait"),
        ("cuCtxSynchronize", "cuCtxSynchronize", "wait"),
        ("cudaEventQuery_v3020", "cudaEventQuery", "runtime"),
        ("cudaStreamWaitEvent_v3020", "cudaStreamWaitEvent", "runtime"),
        ("cudaStreamGetCaptureInfo_v2_v11030", "cudaStreamGetCaptureInfo_v2", "runtime"),
        ("hipMemcpyWithStream", "hipMemcpyWithStream", "wait"),
        ("hipStreamSynchronize", "hipStreamSynchronize", "wait"),
        ("hsa_signal_wait_scacquire", "hsa_signal_wait_scacquire", "wait"),
    ],
)
def test_calls(symbol: str, name: str, kind: str) -> None:
    assert bare_call(symbol) == name
    assert call_kind(name) == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [("read", "input"), ("pread64", "input"), ("poll", "wait"), ("sem_timedwait", "wait"), ("pthread_cond_wait", "wait"), ("write", "other")],
)
def test_system_calls(name: str, kind: str) -> None:
    assert system_call_kind(name) == kind


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("ProfilerStep#5", 5), ("step 12", 12), ("train_step_7", 7), ("iteration=3", 3), ("Iter 0", 0), ("batch_num: 4", 4), ("step", -1),
        ("footstep 3", -1), ("step 3 of 9", -1), ("stepping 3", -1), ("layer 3", -1), ("step " + "9" * 40, -1),
    ],
)  # fmt: skip
def test_steps(name: str, step: int) -> None:
    assert iteration_of(name) == step
