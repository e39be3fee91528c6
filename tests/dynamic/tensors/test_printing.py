"""Tensors print as PyTorch prints them: the texts are those of PyTorch 2.13."""

from __future__ import annotations

import pytest

import dynamic as torch

CASES = {
    "torch.tensor(3.0)": ("tensor(3.)"),
    "torch.tensor([1.0, 2.5, -3.25])": ("tensor([ 1.0000,  2.5000, -3.2500])"),
    "torch.tensor([1.0, 2.0, -3.0])": ("tensor([ 1.,  2., -3.])"),
    "torch.tensor([[1, -20], [300, 4]])": ("tensor([[  1, -20],\n        [300,   4]])"),
    "torch.tensor([True, False])": ("tensor([ True, False])"),
    "torch.tensor([])": ("tensor([])"),
    "torch.zeros(0, 3)": ("tensor([], size=(0, 3))"),
    "torch.zeros(2, 0, dtype=torch.int64)": ("tensor([], size=(2, 0), dtype=torch.int64)"),
    "torch.tensor([], dtype=torch.int64)": ("tensor([], dtype=torch.int64)"),
    'torch.tensor([1.0, float("nan"), float("inf"), -float("inf")])': (
        "tensor([1., nan, inf, -inf])"
    ),
    'torch.tensor([1.5, float("nan"), -float("inf")])': ("tensor([1.5000,    nan,   -inf])"),
    'torch.tensor([float("nan")])': ("tensor([nan])"),
    "torch.tensor([0.0, -0.0])": ("tensor([0., -0.])"),
    "torch.tensor([1e-5, 1.0])": ("tensor([1.0000e-05, 1.0000e+00])"),
    "torch.tensor([1e9, 1.0])": ("tensor([1.0000e+09, 1.0000e+00])"),
    "torch.tensor([1e5, 1.0])": ("tensor([1.0000e+05, 1.0000e+00])"),
    "torch.tensor([100000.0, 200000.0])": ("tensor([100000., 200000.])"),
    "torch.tensor([0.001, 0.5])": ("tensor([0.0010, 0.5000])"),
    "torch.tensor([123456.789])": ("tensor([123456.7891])"),
    "torch.tensor(0.00012345)": ("tensor(0.0001)"),
    "torch.tensor([0.1, 0.2], dtype=torch.float64)": (
        "tensor([0.1000, 0.2000], dtype=torch.float64)"
    ),
    "torch.tensor([1, 2], dtype=torch.int32)": ("tensor([1, 2], dtype=torch.int32)"),
    "torch.tensor([1, 2], dtype=torch.uint8)": ("tensor([1, 2], dtype=torch.uint8)"),
    "torch.arange(40)": (
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
        "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,\n"
        "        36, 37, 38, 39])"
    ),
    "torch.arange(40.0) / 8": (
        "tensor([0.0000, 0.1250, 0.2500, 0.3750, 0.5000, 0.6250, 0.7500, 0.8750, 1.0000,\n"
        "        1.1250, 1.2500, 1.3750, 1.5000, 1.6250, 1.7500, 1.8750, 2.0000, 2.1250,\n"
        "        2.2500, 2.3750, 2.5000, 2.6250, 2.7500, 2.8750, 3.0000, 3.1250, 3.2500,\n"
        "        3.3750, 3.5000, 3.6250, 3.7500, 3.8750, 4.0000, 4.1250, 4.2500, 4.3750,\n"
        "        4.5000, 4.6250, 4.7500, 4.8750])"
    ),
    "torch.tensor([1.25, 2.5, 3.75, 4.125, 5.5, 6.25], dtype=torch.float64, requires_grad=True)": (
        "tensor([1.2500, 2.5000, 3.7500, 4.1250, 5.5000, 6.2500], dtype=torch.float64,\n"
        "       requires_grad=True)"
    ),
    "torch.arange(1200)": ("tensor([   0,    1,    2,  ..., 1197, 1198, 1199])"),
    "torch.arange(2000.0).reshape(40, 50)": (
        "tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 4.7000e+01, 4.8000e+01,\n"
        "         4.9000e+01],\n"
        "        [5.0000e+01, 5.1000e+01, 5.2000e+01,  ..., 9.7000e+01, 9.8000e+01,\n"
        "         9.9000e+01],\n"
        "        [1.0000e+02, 1.0100e+02, 1.0200e+02,  ..., 1.4700e+02, 1.4800e+02,\n"
        "         1.4900e+02],\n"
        "        ...,\n"
        "        [1.8500e+03, 1.8510e+03, 1.8520e+03,  ..., 1.8970e+03, 1.8980e+03,\n"
        "         1.8990e+03],\n"
        "        [1.9000e+03, 1.9010e+03, 1.9020e+03,  ..., 1.9470e+03, 1.9480e+03,\n"
        "         1.9490e+03],\n"
        "        [1.9500e+03, 1.9510e+03, 1.9520e+03,  ..., 1.9970e+03, 1.9980e+03,\n"
        "         1.9990e+03]])"
    ),
    "torch.arange(24).reshape(2, 3, 4)": (
        "tensor([[[ 0,  1,  2,  3],\n"
        "         [ 4,  5,  6,  7],\n"
        "         [ 8,  9, 10, 11]],\n"
        "\n"
        "        [[12, 13, 14, 15],\n"
        "         [16, 17, 18, 19],\n"
        "         [20, 21, 22, 23]]])"
    ),
    "torch.arange(12000).reshape(20, 20, 30)": (
        "tensor([[[    0,     1,     2,  ...,    27,    28,    29],\n"
        "         [   30,    31,    32,  ...,    57,    58,    59],\n"
        "         [   60,    61,    62,  ...,    87,    88,    89],\n"
        "         ...,\n"
        "         [  510,   511,   512,  ...,   537,   538,   539],\n"
        "         [  540,   541,   542,  ...,   567,   568,   569],\n"
        "         [  570,   571,   572,  ...,   597,   598,   599]],\n"
        "\n"
        "        [[  600,   601,   602,  ...,   627,   628,   629],\n"
        "         [  630,   631,   632,  ...,   657,   658,   659],\n"
        "         [  660,   661,   662,  ...,   687,   688,   689],\n"
        "         ...,\n"
        "         [ 1110,  1111,  1112,  ...,  1137,  1138,  1139],\n"
        "         [ 1140,  1141,  1142,  ...,  1167,  1168,  1169],\n"
        "         [ 1170,  1171,  1172,  ...,  1197,  1198,  1199]],\n"
        "\n"
        "        [[ 1200,  1201,  1202,  ...,  1227,  1228,  1229],\n"
        "         [ 1230,  1231,  1232,  ...,  1257,  1258,  1259],\n"
        "         [ 1260,  1261,  1262,  ...,  1287,  1288,  1289],\n"
        "         ...,\n"
        "         [ 1710,  1711,  1712,  ...,  1737,  1738,  1739],\n"
        "         [ 1740,  1741,  1742,  ...,  1767,  1768,  1769],\n"
        "         [ 1770,  1771,  1772,  ...,  1797,  1798,  1799]],\n"
        "\n"
        "        ...,\n"
        "\n"
        "        [[10200, 10201, 10202,  ..., 10227, 10228, 10229],\n"
        "         [10230, 10231, 10232,  ..., 10257, 10258, 10259],\n"
        "         [10260, 10261, 10262,  ..., 10287, 10288, 10289],\n"
        "         ...,\n"
        "         [10710, 10711, 10712,  ..., 10737, 10738, 10739],\n"
        "         [10740, 10741, 10742,  ..., 10767, 10768, 10769],\n"
        "         [10770, 10771, 10772,  ..., 10797, 10798, 10799]],\n"
        "\n"
        "        [[10800, 10801, 10802,  ..., 10827, 10828, 10829],\n"
        "         [10830, 10831, 10832,  ..., 10857, 10858, 10859],\n"
        "         [10860, 10861, 10862,  ..., 10887, 10888, 10889],\n"
        "         ...,\n"
        "         [11310, 11311, 11312,  ..., 11337, 11338, 11339],\n"
        "         [11340, 11341, 11342,  ..., 11367, 11368, 11369],\n"
        "         [11370, 11371, 11372,  ..., 11397, 11398, 11399]],\n"
        "\n"
        "        [[11400, 11401, 11402,  ..., 11427, 11428, 11429],\n"
        "         [11430, 11431, 11432,  ..., 11457, 11458, 11459],\n"
        "         [11460, 11461, 11462,  ..., 11487, 11488, 11489],\n"
        "         ...,\n"
        "         [11910, 11911, 11912,  ..., 11937, 11938, 11939],\n"
        "         [11940, 11941, 11942,  ..., 11967, 11968, 11969],\n"
        "         [11970, 11971, 11972,  ..., 11997, 11998, 11999]]])"
    ),
    "torch.ones(2, 2, requires_grad=True)": (
        "tensor([[1., 1.],\n        [1., 1.]], requires_grad=True)"
    ),
    "torch.ones(2, 2, requires_grad=True) * 2": (
        "tensor([[2., 2.],\n        [2., 2.]], grad_fn=<MulBackward0>)"
    ),
    "torch.ones(14, requires_grad=True) * 2": (
        "tensor([2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2.],\n"
        "       grad_fn=<MulBackward0>)"
    ),
    "torch.ones(16, requires_grad=True).double() * 2": (
        "tensor([2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2.],\n"
        "       dtype=torch.float64, grad_fn=<MulBackward0>)"
    ),
    "torch.tensor(2.0, requires_grad=True).exp()": ("tensor(7.3891, grad_fn=<ExpBackward0>)"),
    "torch.ones(3).shape": ("torch.Size([3])"),
    "torch.float32": ("torch.float32"),
    "torch.ones(2, 3, requires_grad=True).max(0)": (
        "torch.return_types.max(\n"
        "values=tensor([1., 1., 1.], grad_fn=<MaxBackward0>),\n"
        "indices=tensor([0, 0, 0]))"
    ),
    "torch.tensor([[1.0, 2.0]]).min(1)": (
        "torch.return_types.min(\nvalues=tensor([1.]),\nindices=tensor([0]))"
    ),
    'f"{torch.tensor(2.5):.3f} {torch.tensor([1])}"': ("2.500 tensor([1])"),
    "torch.ones(2, dtype=torch.float64).type()": ("torch.DoubleTensor"),
}


@pytest.mark.parametrize("source", CASES)
def test_text(source):
    value = eval(source)
    assert (value if isinstance(value, str) else repr(value)) == CASES[source]


def test_print_options():
    x = torch.tensor([1.0, 1.23456789])
    torch.set_printoptions(precision=2, sci_mode=True)
    try:
        assert repr(x) == "tensor([1.00e+00, 1.23e+00])"
    finally:
        torch.set_printoptions(precision=4, sci_mode=None)
    with pytest.raises(TypeError, match=r"^set_printoptions\(\) got an unexpected keyword"):
        torch.set_printoptions(width=3)
    with pytest.raises(TypeError, match=r"^set_printoptions: threshold is a number, not 'full'"):
        torch.set_printoptions(precision=3, threshold="full")
    assert repr(x) == "tensor([1.0000, 1.2346])"
