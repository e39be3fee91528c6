"""Public scripts that look into models: hooks, profiles, classes with functions of their own."""

from __future__ import annotations

from jobs_kinds import NUMBERS, Job, driven

_NET = """
import torch.nn as nn
one = torch.ones((), requires_grad=True)
def note(*found):
    for each in found:
        (one * torch.as_tensor(each).detach().abs().sum()).backward()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(4, 6, 3, padding=1), nn.ReLU())
        self.avgpool = nn.AdaptiveAvgPool2d(2)
        self.classifier = nn.Sequential(nn.Linear(24, 8), nn.ReLU(), nn.Linear(8, 5))
    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))
net = Net().double()
x = torch.randn(1, 3, 8, 8)
"""
_TRAINING = """
y = torch.randint(0, 5, (6,))
images = torch.randn(6, 3, 8, 8)
def train(optimizers, steps=3, **options):
    for _ in range(steps):
        for one in optimizers:
            one.zero_grad()
        loss = nn.functional.cross_entropy(net(images), y)
        loss.backward()
        for one in optimizers:
            one.step(**options)
"""
_PROFILED = """
with m.Profile(net, profile_memory=True) as prof:
    net(x).square().sum().backward()
traces, events = prof.raw()
assert len(traces) == 12 and all(len(events[one.path]) == 1 for one in traces if one.leaf)
assert "Conv2d" in str(traces[2].module)
note(torch.tensor([float(len(one.path)) for one in traces]))
"""
_CAM = """
for kind in (m.GradCAM, m.GradCAMpp):
    cam = kind(dict(type="vgg", arch=net, layer_name="features_3", input_size=(8, 8)), True)
    mask, logit = cam(x)
    note(mask, logit)
"""
_FULL = """
from saliency.gradcam import GradCAM
from saliency.simple_fullgrad import SimpleFullGrad
net.eval()
for kind in (m.FullGrad, SimpleFullGrad):
    note(kind(net, (3, 8, 8)).saliency(x))
note(GradCAM(net).saliency(x))
"""
_GUIDED = """
from gradcam import GradCam
from integrated_gradients import IntegratedGradients
from vanilla_backprop import VanillaBackprop
x.requires_grad_()
note(torch.from_numpy(VanillaBackprop(net).generate_gradients(x, 2)))
note(torch.from_numpy(IntegratedGradients(net).generate_integrated_gradients(x, 2, 4)))
note(torch.from_numpy(m.GuidedBackprop(net).generate_gradients(x, 2)))
"""
_CURVATURE = """
train([m.KFACOptimizer(net, lr=0.01, TCov=1, TInv=1)], 0)
from optimizers.ekfac import EKFACOptimizer
import torch.nn.functional as F
for kind in (m.KFACOptimizer, EKFACOptimizer):
    net = Net().double()
    optimizer = kind(net, lr=0.01, TCov=1, TInv=2)
    for step in range(3):
        optimizer.zero_grad()
        optimizer.acc_stats = True
        F.cross_entropy(net(images), y).backward(retain_graph=True)
        optimizer.acc_stats = False
        optimizer.step()
"""
_PRECONDITIONED = """
from ekfac import EKFAC
train([m.KFAC(net, 0.1), torch.optim.SGD(net.parameters(), 0.01)])
net = Net().double()
train([m.KFAC(net, 0.1, sua=True, pi=True), torch.optim.SGD(net.parameters(), 0.01)])
for options in ({"alpha": 1.0}, {"ra": True, "alpha": 0.75}):
    net = Net().double()
    train([EKFAC(net, 0.1, **options), torch.optim.SGD(net.parameters(), 0.01)])
"""
_RULES = """
from zennit.composites import EpsilonAlpha2Beta1, EpsilonGammaBox, EpsilonPlus, GuidedBackprop
flat = nn.Sequential(*net.features, nn.AdaptiveAvgPool2d(2), nn.Flatten(), *net.classifier)
composites = EpsilonPlus(), EpsilonAlpha2Beta1(), EpsilonGammaBox(-3.0, 3.0), GuidedBackprop()
for composite in composites:
    with m.Gradient(flat, composite) as attributor:
        output, relevance = attributor(x.clone(), torch.eye(5)[[2]])
    note(output, relevance)
for kind in (m.SmoothGrad, m.IntegratedGradients):
    with kind(flat, n_iter=3) as attributor:
        note(*attributor(x.clone(), torch.eye(5)[[1]]))
"""
_OPERATORS = """
from linear_operator import operators as ops
a = torch.rand(4, requires_grad=True)
b = torch.randn(4, 4)
right = torch.randn(4, 2)
square = b @ b.T + 4 * torch.eye(4)
diagonal = ops.DiagLinearOperator(a + 1)
note(torch.matmul(diagonal, right), (diagonal + ops.DenseLinearOperator(square)).to_dense())
(torch.add(diagonal, ops.DenseLinearOperator(square)) @ right).square().sum().backward()
torch.linalg.solve(diagonal, right).sum().backward()
root = ops.RootLinearOperator(b)
note(torch.diagonal(root, dim1=-1, dim2=-2), root.mT.to_dense(), (root * 2.0).to_dense())
low = ops.TriangularLinearOperator(torch.linalg.cholesky(square))
note(low.solve(right))
note(ops.KroneckerProductLinearOperator(ops.DenseLinearOperator(b), diagonal).to_dense())
note(torch.logdet(ops.DiagLinearOperator(a.detach() + 2)), torch.sum(diagonal, -1))
"""
_CONSTRAINED = """
class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 4), nn.Linear(4, 4)
    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))
given = torch.randn(5, 6)
pairs = (m.orthogonal, m.skew), (m.sphere, m.symmetric), (m.orthogonal, m.positive_definite)
for first, second in pairs:
    small = Small().double()
    first(small.first, "weight")
    second(small.second, "weight")
    optimizer = torch.optim.SGD(small.parameters(), lr=0.05)
    for _ in range(3):
        optimizer.zero_grad()
        small(given).square().sum().backward()
        optimizer.step()
    note(small.first.weight, small.second.weight)
"""
_GEOMETRY = """
from torch.utils.data import DataLoader, TensorDataset
from nngeometry.metrics import FIM
from nngeometry.object import PMatBlockDiag, PMatDense, PMatDiag, PMatEKFAC, PMatKFAC
loader = DataLoader(TensorDataset(images, y), batch_size=3)
for kind in (PMatDense, PMatDiag, PMatBlockDiag, PMatKFAC, PMatEKFAC):
    found = FIM(model=net, loader=loader, representation=kind, n_output=5,
                variant="classif_logits", device="cpu")
    note(found.trace(), found.frobenius_norm())
"""
_SCAN = """
import importlib.metadata
importlib.metadata.version = lambda name: "0"  # it is not installed
m = importlib.import_module("torchscan")
m.summary(net, (3, 8, 8), receptive_field=True)
found = m.crawl_module(net, (3, 8, 8))
note(*[torch.tensor(float(one["value"] or 0)) for one in found["totals"].values()])
"""
_CAMS = """
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
net.eval()
target = [ClassifierOutputTarget(2)]
for name in ("GradCAM", "GradCAMPlusPlus", "XGradCAM", "HiResCAM", "LayerCAM", "GradCAMElementWise",
             "EigenGradCAM", "ScoreCAM", "FullGrad"):
    cam = getattr(m, name)(model=net, target_layers=[net.features[3]])
    note(torch.from_numpy(cam(input_tensor=x.clone(), targets=target)))
guided = m.GuidedBackpropReLUModel(model=net, device="cpu")
note(torch.from_numpy(guided(x.clone(), target_category=2)))
"""
_COUNTED = """
macs, params = m.get_model_complexity_info(net, (3, 8, 8), as_strings=False)
note(torch.tensor(float(macs)), torch.tensor(float(params)))
"""

LOOKING: list[Job] = [
    driven("sovrasov/flops-counter.pytorch", "ptflops", _NET + _COUNTED),
    driven("awwong1/torchprof", "torchprof", _NET + _PROFILED),
    driven("1Konny/gradcam_plus_plus-pytorch", "gradcam", _NET + _CAM),
    driven("idiap/fullgrad-saliency", "saliency.fullgrad", _NET + _FULL),
    driven("utkuozbulak/pytorch-cnn-visualizations", "guided_backprop", _NET + _GUIDED, "src"),
    driven("alecwangcq/KFAC-Pytorch", "optimizers.kfac", _NET + _TRAINING + _CURVATURE),
    driven("Thrandis/EKFAC-pytorch", "kfac", _NET + _TRAINING + _PRECONDITIONED),
    driven("chr5tphr/zennit", "zennit.attribution", _NET + _RULES, "src"),
    driven("cornellius-gp/linear_operator", "linear_operator", _NET + _OPERATORS),
    driven("lezcano/geotorch", "geotorch.constraints", _NET + _CONSTRAINED),
    driven("tfjgeorge/nngeometry", "nngeometry", _NET + _TRAINING + _GEOMETRY),
    Job("frgfm/torch-scan", "torchscan", drive=_NET + _SCAN, data=NUMBERS, steps=200),
    driven("jacobgil/pytorch-grad-cam", "pytorch_grad_cam", _NET + _CAMS, kind="of ten methods"),
]
