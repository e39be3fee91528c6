"""Further public scripts and models, of authors whom `jobs` has not."""

from __future__ import annotations

from jobs_kinds import Job, driven, model

TEXT = "made-up text"


def _scripts() -> list[Job]:
    tcn = "locuslab/TCN"
    flows = "kamenbliznashki/normalizing_flows"
    physics = "greydanus/hamiltonian-nn"
    return [
        Job("tanelp/tiny-diffusion", "ddpm.py", ("--dataset", "moons", "--num_epochs", "1")),
        Job("devnag/pytorch-generative-adversarial-networks", "gan_pytorch.py"),
        Job(tcn, "TCN/adding_problem/add_test.py",
            ("--seq_len", "40", "--levels", "3", "--cuda", "--clip", "0.5"), cwd=".", steps=8),
        Job(tcn, "TCN/copy_memory/copymem_test.py",
            ("--blank_len", "20", "--levels", "3", "--cuda"), cwd=".", steps=8),
        *(Job(physics, f"experiment-{name}/train.py", ("--verbose",), roots=(f"experiment-{name}",))
          for name in ("spring", "pend")),
        Job(physics, "experiment-spring/train.py", ("--baseline",),
            roots=("experiment-spring",), kind="baseline"),
        Job("rtqichen/torchdiffeq", "examples/ode_demo.py",
            ("--niters", "6", "--data_size", "100", "--batch_size", "4"), steps=6),
        Job("rtqichen/torchdiffeq", "examples/ode_demo.py",
            ("--niters", "3", "--data_size", "60", "--batch_size", "4", "--adjoint"), steps=3,
            kind="adjoint"),
        Job("rtqichen/torchdiffeq", "examples/cnf.py",
            ("--niters", "2", "--num_samples", "16", "--width", "8"), steps=2),
        Job("rtqichen/torchdiffeq", "examples/latent_ode.py", ("--niters", "2"), steps=2),
        Job("rtqichen/torchdiffeq", "examples/bouncing_ball.py", ("2",)),
        Job(flows, "planar_flow.py",
            ("--train", "--target_potential", "u_z1", "--n_steps", "8", "--flow_length", "4")),
        Job(flows, "bnaf.py",
            ("--train", "--dataset", "u1", "--n_steps", "8", "--hidden_dim", "20",
             "--output_dir", ".")),
        Job(flows, "maf.py",
            ("--train", "--dataset", "TOY", "--n_epochs", "1", "--output_dir", ".")),
        Job("ikostrikov/pytorch-flows", "main.py", ("--dataset", "MOONS", "--epochs", "1",
            "--flow", "maf", "--no-cuda")),
        Job("Andras7/word2vec-pytorch", "word2vec/trainer.py", files=("input.txt",), data=TEXT),
        Job("cloneofsimo/minDiffusion", "superminddpm.py"),
        Job("1Konny/VIB-pytorch", "main.py", ("--cuda", "False", "--epoch", "1")),
        *(Job("vwxyzjn/cleanrl", f"cleanrl/{name}.py", arguments, steps=6) for name, arguments in (
            ("dqn", ("--learning-starts", "20", "--batch-size", "8", "--train-frequency", "1")),
            ("ppo", ("--num-steps", "16", "--num-envs", "2", "--total-timesteps", "100")),
            ("c51", ("--learning-starts", "20", "--batch-size", "8", "--train-frequency", "1")),
            ("sac_continuous_action",
             ("--env-id", "Pendulum-v1", "--learning-starts", "20", "--batch-size", "8")),
            ("td3_continuous_action",
             ("--env-id", "Pendulum-v1", "--learning-starts", "20", "--batch-size", "8")),
            ("ddpg_continuous_action",
             ("--env-id", "Pendulum-v1", "--learning-starts", "20", "--batch-size", "8")))),
    ]  # fmt: skip


_META = """
import argparse
args = argparse.Namespace(update_lr=0.4, meta_lr=1e-3, n_way=5, k_spt=1, k_qry=3, task_num=2,
                          update_step=3, update_step_test=3, imgc=1, imgsz=28)
config = [('conv2d', [8, 1, 3, 3, 2, 0]), ('relu', [True]), ('bn', [8]),
          ('conv2d', [8, 8, 3, 3, 2, 0]), ('relu', [True]), ('bn', [8]), ('flatten', []),
          ('linear', [5, 8 * 36])]
meta = m.Meta(args, config)
spt = torch.randn(2, 5, 1, 28, 28), torch.arange(5).repeat(2, 1)
qry = torch.randn(2, 15, 1, 28, 28), torch.arange(15).remainder(5).repeat(2, 1)
for _ in range(3):
    print(meta(*spt, *qry))
"""
_TUNE = """
class Tuned(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.token = m.Embedding(20, 8, r=2)
        self.mix = m.MergedLinear(8, 24, r=2, enable_lora=[True, False, True], lora_alpha=2)
        self.conv = m.Conv2d(1, 2, 3, r=2, padding=1)
        self.last = m.Linear(24, 5, r=2, lora_dropout=0.1)
    def forward(self, x):
        return self.last(self.conv(self.mix(self.token(x)).unsqueeze(1)).mean(1))
"""
_TWO_STEPS = """
net = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
x, y = torch.randn(10, 6), torch.randint(0, 3, (10,))
for adaptive in (False, True):
    optimizer = m.SAM(net.parameters(), torch.optim.SGD, rho=0.5, adaptive=adaptive, lr=0.1,
                      momentum=0.9)
    for _ in range(4):
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.first_step(zero_grad=True)
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.second_step(zero_grad=True)
"""
_OPTIMIZERS = (
    "A2GradExp", "A2GradInc", "A2GradUni", "AccSGD", "AdaBelief", "AdaBound", "AdaMod", "Adafactor",
    "AdamP", "AggMo", "Apollo", "DiffGrad", "LARS", "Lamb", "MADGRAD", "NovoGrad", "PID", "QHAdam",
    "QHM", "RAdam", "SGDP", "SGDW", "SWATS", "Shampoo", "Yogi", "Adahessian", "Lookahead", "Lion",
)  # fmt: skip
_TRAIN = """
x, y = torch.randn(10, 6), torch.randint(0, 3, (10,))
for name in NAMES:
    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
    if name == "Lookahead":
        optimizer = m.Lookahead(m.Yogi(net.parameters(), lr=0.05), k=2)
    elif not hasattr(m, name):
        continue
    else:
        kind = getattr(m, name)
        more = {"A2GradUni": {}, "A2GradInc": {}, "A2GradExp": {}, "Adafactor": {}}
        optimizer = kind(net.parameters(), **more.get(name, {"lr": 0.01}))
    for _ in range(4):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward(create_graph=name == "Adahessian")
        optimizer.step()
"""
_CONTRAST = """
import losses
supcon = losses.SupConLoss()
labels = torch.tensor([0, 1, 0, 2])
def loss(found):
    both = torch.stack([found[:4], found[4:]], 1)
    return supcon(both, labels) + supcon(both)
"""
_ATTACKS = """
import sys, types
net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4),
                          torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(256, 5)).eval()
x, y = torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 3])
for name in ("FGSM", "BIM", "RFGSM", "PGD", "PGDL2", "EOTPGD", "FFGSM", "TPGD", "MIFGSM", "VNIFGSM",
             "NIFGSM", "SINIFGSM", "VMIFGSM", "APGD", "UPGD", "JSMA", "DIFGSM", "TIFGSM", "Jitter",
             "CW", "DeepFool", "SparseFool", "FAB", "OnePixel", "GN", "EADL1"):
    attack = getattr(m, name)(net)
    if hasattr(attack, "steps"):
        attack.steps = min(attack.steps, 3)
    if name == "JSMA":
        continue
    found = attack(x, y)
    print(name, float(found.sum()), float(torch.nn.functional.cross_entropy(net(found), y)))
"""
_CURVATURE = """
net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3))
data = torch.randn(12, 4), torch.randint(0, 3, (12,))
found = m.hessian(net, torch.nn.CrossEntropyLoss(), data=data, cuda=False)
print(*found.eigenvalues(maxIter=30, top_n=2)[0])
print(*found.trace(maxIter=10)[:3])
print(*found.density(iter=5, n_v=1)[0][0])
"""
_CAMS = """
net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.ReLU(),
                          torch.nn.Conv2d(4, 6, 3, padding=1), torch.nn.ReLU(),
                          torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(6, 5))
x = torch.randn(2, 3, 16, 16)
for name in ("GradCAM", "HiResCAM", "GradCAMPlusPlus", "XGradCAM", "EigenGradCAM", "LayerCAM",
             "GradCAMElementWise", "ScoreCAM", "AblationCAM", "EigenCAM"):
    with getattr(m, name)(model=net, target_layers=[net[2]]) as cam:
        print(name, *cam(input_tensor=x, targets=None).reshape(2, -1)[:, ::31].ravel())
"""
_SUMMARY = """
net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4),
                          torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
                          torch.nn.Linear(64, 5))
"""


def _methods() -> list[Job]:
    several = f"NAMES = {_OPTIMIZERS!r}\n"
    return [
        driven("dragen1860/MAML-Pytorch", "meta", _META),
        driven("davda54/sam", "sam", _TWO_STEPS),
        driven("jettify/pytorch-optimizer", "torch_optimizer", several + _TRAIN),
        driven("Harry24k/adversarial-attacks-pytorch", "torchattacks", _ATTACKS),
        driven("amirgholami/PyHessian", "pyhessian", _CURVATURE),
        driven("jacobgil/pytorch-grad-cam", "pytorch_grad_cam", _CAMS),
        driven("sksq96/pytorch-summary", "torchsummary",
                _SUMMARY + "m.summary(net, (3, 8, 8), device='cpu')"),
        driven("TylerYep/torchinfo", "torchinfo",
                _SUMMARY + "print(m.summary(net, (2, 3, 8, 8), device='cpu', verbose=0))"),
        model("microsoft/LoRA", "loralib/layers.py", "Tuned()", "randint(0, 20, (3, 7))",
              more=_TUNE),
        model("HobbitLong/SupContrast", "networks/resnet_big.py",
              "m.SupConResNet('resnet18', feat_dim=16)", "randn(8, 3, 16, 16)", more=_CONTRAST,
              steps=3),
    ]  # fmt: skip


def _speech() -> list[Job]:
    vits, hifi = "jaywalnut310/vits", "jik876/hifi-gan"
    small = (
        "import argparse\nh = argparse.Namespace(resblock='1', upsample_rates=[4, 2], "
        "upsample_kernel_sizes=[8, 4], upsample_initial_channel=16, resblock_kernel_sizes=[3, 5], "
        "resblock_dilation_sizes=[[1, 3, 5], [1, 3, 5]])"
    )
    both = (
        "loss = lambda found: m.discriminator_loss(found[0], found[1])[0] + "
        "m.feature_loss(*found[2:])"
    )
    return [
        model(hifi, "models.py", "m.Generator(h)", "randn(2, 80, 6)", more=small, kind="generator"),
        model(hifi, "models.py", "m.MultiPeriodDiscriminator()",
              "randn(1, 1, 300), randn(1, 1, 300)", more=both, steps=2, kind="of periods"),
        model(hifi, "models.py", "m.MultiScaleDiscriminator()",
              "randn(1, 1, 300), randn(1, 1, 300)", more=both, steps=2, kind="of scales"),
        model(vits, "attentions.py", "m.Encoder(16, 32, 2, 2, 3, 0.1)",
              "randn(2, 16, 9), torch.ones(2, 1, 9)"),
        model(vits, "modules.py", "m.ConvFlow(4, 16, 3, 2)", "randn(2, 4, 9), torch.ones(2, 1, 9)"),
        model(vits, "modules.py", "m.WN(16, 5, 2, 3, p_dropout=0.1)",
              "randn(2, 16, 12), torch.ones(2, 1, 12)",
              kind="WN"),
    ]  # fmt: skip


def _text() -> list[Job]:
    rasbt = "rasbt/LLMs-from-scratch"
    tokens = "randint(0, 30, (2, 12))"
    config = (
        "config = {'vocab_size': 30, 'context_length': 16, 'emb_dim': 16, 'n_heads': 4, "
        "'n_layers': 2, 'drop_rate': 0.1, 'qkv_bias': False, 'n_kv_groups': 2, 'hidden_dim': 32, "
        "'num_experts': 4, 'num_experts_per_tok': 2, 'latent_dim': 8, 'kv_window_size': 8, "
        "'sliding_window_size': 8, 'sliding_window_stride': 2}"
    )
    chapters = {
        "ch04/01_main-chapter-code": "gpt", "ch04/03_kv-cache": "gpt_with_kv_cache",
        "ch04/04_gqa": "gpt_with_kv_gqa", "ch04/05_mla": "gpt_with_kv_mla",
        "ch04/06_swa": "gpt_with_kv_swa", "ch04/07_moe": "gpt_with_kv_moe",
    }  # fmt: skip
    xl = (
        "m.MemTransformerLM(30, 2, 2, 16, 8, 32, 0.1, 0.1, tie_weight=True, d_embed=16, "
        "div_val=2, tie_projs=[False, True, True], tgt_len=6, ext_len=0, mem_len=6, "
        "cutoffs=[10, 20], attn_type={})"
    )
    two = "randint(0, 30, (6, 3)), randint(0, 30, (6, 3))"
    return [
        *(driven(rasbt, name, f"{config}\nmodel, inputs = m.GPTModel(config), "
                  f"[torch.randint(0, 30, (2, 12))]", folder, steps=4)
          for folder, name in chapters.items()),
        *(model("kimiyoung/transformer-xl", "pytorch/mem_transformer.py", xl.format(kind), two,
                roots=("pytorch", "pytorch/utils"), more="loss = lambda found: found[0].mean()",
                kind=f"attention {kind}")
          for kind in (0,)),
        model("salesforce/awd-lstm-lm", "model.py",
              "m.RNNModel('LSTM', 30, 16, 20, 2, 0.4, 0.3, 0.4, 0.1, 0.5, True)",
              "randint(0, 30, (6, 3)), None",
              more="forward = m.RNNModel.forward\n"
                   "m.RNNModel.forward = lambda self, x, h: forward(self, x, self.init_hidden(3))"),
        model("pbloem/former", "former/transformers.py",
              "m.GTransformer(16, 2, 2, 12, 30, attention_type='relative')", tokens),
        model("pbloem/former", "former/transformers.py",
              "m.CTransformer(16, 2, 2, 12, 30, 4, dropout=0.1, wide=True)", tokens,
              kind="classifier"),
        model("hyunwoongko/transformer", "models/model/transformer.py",
              "m.Transformer(1, 1, 2, 30, 30, 16, 2, 20, 32, 2, 0.1, torch.device('cpu'))",
              "randint(1, 30, (2, 7)), randint(1, 30, (2, 6))"),
        model("codertimo/BERT-pytorch", "bert_pytorch/model/language_model.py",
              "m.BERTLM(m.BERT(30, 16, 2, 2), 30)",
              "randint(0, 30, (2, 7)), randint(0, 3, (2, 7))"),
        model("alxndrTL/mamba.py", "mambapy/lm.py",
              "m.LM(m.MambaConfig(d_model=16, n_layers=2, d_state=4), 30)", tokens),
        model("alxndrTL/mamba.py", "mambapy/jamba.py",
              "m.JambaLM(m.JambaLMConfig(d_model=16, n_layers=4, mlp_size=32, "
              "num_attention_heads=4, num_key_value_heads=2, attn_layer_offset=1, "
              "attn_layer_period=2, vocab_size=30, num_experts=4))", tokens, steps=2),
    ]  # fmt: skip


def _graphs_and_points() -> list[Job]:
    edges = "torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]])"
    return [
        model("Diego999/pyGAT", "models.py", "m.GAT(6, 8, 3, 0.6, 0.2, 2)",
              "randn(7, 6), (torch.eye(7) + torch.ones(7, 7).tril()).clamp(max=1)"),
        model("Diego999/pyGAT", "models.py", "m.SpGAT(6, 8, 3, 0.6, 0.2, 2)",
              "randn(7, 6), (torch.eye(7) + torch.ones(7, 7).tril()).clamp(max=1)", kind="sparse"),
        *(model("gordicaleksa/pytorch-GAT", "models/definitions/GAT.py",
                f"m.GAT(2, [2, 1], [6, 8, 3], layer_type=m.LayerType.IMP{kind})",
                f"(randn(5, 6), {given})", more="loss = lambda found: (found[0] ** 2).mean()",
                kind=f"{kind}")
          for kind, given in ((1, "torch.zeros(5, 5)"), (2, "torch.zeros(5, 5)"), (3, edges))),
        model("fxia22/pointnet.pytorch", "pointnet/model.py", "m.PointNetCls(5, True)",
              "randn(4, 3, 20)", steps=2),
        model("fxia22/pointnet.pytorch", "pointnet/model.py", "m.PointNetDenseCls(3, True)",
              "randn(4, 3, 20)", steps=2, kind="dense"),
        model("yenchenlin/nerf-pytorch", "run_nerf_helpers.py", "Rays()", "randn(5, 3)",
              more="class Rays(torch.nn.Module):\n    def __init__(self):\n"
                   "        super().__init__()\n        self.embed, n = m.get_embedder(4)\n"
                   "        self.net = m.NeRF(D=3, W=16, input_ch=n, input_ch_views=n, skips=[1], "
                   "use_viewdirs=True)\n"
                   "    def forward(self, x):\n        e = self.embed(x)\n"
                   "        return self.net(torch.cat([e, e], -1))"),
    ]  # fmt: skip


def _vision() -> list[Job]:
    attention = {
        "ExternalAttention": "ExternalAttention(d_model=16, S=4)",
        "SelfAttention": "ScaledDotProductAttention(16, 8, 8, 2)",
        "SimplifiedSelfAttention": "SimplifiedScaledDotProductAttention(16, 2)",
    }
    maps = {
        "SEAttention": "SEAttention(16, 4)", "SKAttention": "SKAttention(16, reduction=4)",
        "CBAM": "CBAMBlock(16, 4, 7)", "ECAAttention": "ECAAttention()",
        "A2Atttention": "DoubleAttention(16, 8, 8, True)", "SGE": "SpatialGroupEnhance(4)",
        "CoTAttention": "CoTAttention(16, 3)", "TripletAttention": "TripletAttention()",
        "ResidualAttention": "ResidualAttention(16, 10, 0.2)",
        "CoordAttention": "CoordAtt(16, 16)", "ParNetAttention": "ParNetAttention(16)",
        "PolarizedSelfAttention": "ParallelPolarizedSelfAttention(16)",
    }  # fmt: skip
    here = "xmu-xiaoma666/External-Attention-pytorch"
    return [
        *(model(here, f"model/attention/{name}.py", f"m.{make}", given)
          for name, make in attention.items()
          for given in ["randn(2, 9, 16)" if name == "ExternalAttention"
                        else "*[randn(2, 9, 16) for _ in range(3)]"]),
        *(model(here, f"model/attention/{name}.py", f"m.{make}", "randn(2, 16, 8, 8)", steps=3,
                more="import torch.nn as nn")
          for name, make in maps.items()),
        model("lukemelas/EfficientNet-PyTorch", "efficientnet_pytorch/model.py",
              "m.EfficientNet.from_name('efficientnet-b0', num_classes=4, image_size=64)",
              "randn(4, 3, 64, 64)", steps=2),
        model("facebookresearch/mixup-cifar10", "models/resnet.py", "m.ResNet18()",
              "randn(2, 3, 32, 32)", steps=2),
        model("davda54/sam", "example/model/wide_res_net.py", "m.WideResNet(10, 1, 0.1, 3, 4)",
              "randn(2, 3, 32, 32)", steps=3, roots=("example",),
              more="m = importlib.import_module('model.wide_res_net')"),
        model("cloneofsimo/minDiffusion", "mindiffusion/unet.py", "m.NaiveUnet(3, 3, 8)",
              "randn(2, 3, 32, 32), torch.rand(2)", steps=2),
    ]  # fmt: skip


def _flows() -> list[Job]:
    here = "karpathy/pytorch-normalizing-flows"
    kinds = {
        "AffineHalfFlow": "m.AffineHalfFlow(dim=4, parity=0)", "SlowMAF": "m.SlowMAF(4, 0)",
        "MAF": "m.MAF(4, 1)", "IAF": "m.IAF(4, 1)", "ActNorm": "m.ActNorm(4)",
        "Invertible1x1Conv": "m.Invertible1x1Conv(4)",
    }  # fmt: skip
    return [
        *(model(here, "nflib/flows.py", make, "randn(6, 4)",
                more="loss = lambda found: (found[0] ** 2).mean() - found[1].mean()",
                kind=kind)
          for kind, make in kinds.items()),
        model(here, "nflib/spline_flows.py", "m.NSF_CL(4, K=5, B=3)", "randn(6, 4)",
              more="loss = lambda found: (found[0] ** 2).mean() - found[1].mean()"),
        model("ikostrikov/pytorch-flows", "flows.py",
              "m.FlowSequential(m.MADE(4, 8), m.BatchNormFlow(4), m.Reverse(4), "
              "m.LUInvertibleMM(4), m.CouplingLayer(4, 8, torch.tensor([0., 1., 0., 1.])))",
              "randn(6, 4)", more="loss = lambda found: (found[0] ** 2).mean() - found[1].mean()"),
    ]  # fmt: skip


def _images_and_attention() -> list[Job]:
    gate = "Jongchan/attention-module"
    linear = "linformer_pytorch/linformer_pytorch.py"
    sizes = "input_size=16, channels=8, dim_k=4, dim_ff=16, nhead=2, depth=2"
    return [
        model("akamaster/pytorch_resnet_cifar10", "resnet.py", "m.resnet20()",
              "randn(4, 3, 32, 32)", steps=3),
        model("d-li14/mobilenetv3.pytorch", "mobilenetv3.py",
              "m.mobilenetv3_small(num_classes=10)", "randn(4, 3, 64, 64)", steps=3),
        model("berniwal/swin-transformer-pytorch", "swin_transformer_pytorch/swin_transformer.py",
              "m.SwinTransformer(hidden_dim=8, layers=(2, 2, 2, 2), heads=(1, 1, 2, 2), "
              "num_classes=5, head_dim=4, window_size=2)", "randn(2, 3, 64, 64)"),
        model("yunjey/stargan", "model.py", "m.Generator(8, 2, 1)",
              "randn(2, 3, 16, 16), randn(2, 2)", kind="Generator"),
        model("yunjey/stargan", "model.py", "m.Discriminator(16, 8, 2, 3)",
              "randn(2, 3, 16, 16)", kind="Discriminator",
              more="loss = lambda found: (found[0] ** 2).mean() - found[1].mean()"),
        model("jeonsworld/ViT-pytorch", "models/modeling.py",
              "m.VisionTransformer(m.CONFIGS['testing'], 32, num_classes=5)",
              "randn(2, 3, 32, 32), randint(0, 5, (2,))"),
        model(gate, "MODELS/cbam.py", "m.CBAM(8, 4)", "randn(2, 8, 8, 8)"),
        model(gate, "MODELS/bam.py", "m.BAM(16)", "randn(4, 16, 8, 8)"),
        model(gate, "MODELS/model_resnet.py", "m.ResidualNet('CIFAR10', 18, 10, 'CBAM')",
              "randn(2, 3, 32, 32)", steps=2),
        model("kimhc6028/relational-networks", "model.py",
              "torch.nn.Sequential(m.ConvInputModel())", "randn(2, 3, 75, 75)"),
        model("tatp22/linformer-pytorch", linear, f"m.Linformer({sizes})", "randn(2, 16, 8)",
              kind="Linformer"),
        model("tatp22/linformer-pytorch", linear, f"m.LinformerLM(num_tokens=20, {sizes})",
              "randint(0, 20, (2, 16))", kind="LinformerLM"),
        model("tatp22/linformer-pytorch", linear,
              f"m.LinformerLM(num_tokens=20, {sizes}, causal=True, parameter_sharing='layerwise')",
              "randint(0, 20, (2, 16))", kind="causal"),
    ]  # fmt: skip


WIDER: list[Job] = [
    *_scripts(), *_methods(), *_speech(), *_text(), *_graphs_and_points(), *_vision(),
    *_flows(), *_images_and_attention(),
]  # fmt: skip
"""The jobs, in the order of the page."""
