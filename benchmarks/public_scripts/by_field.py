"""Public scripts and models by their field: forecasts, agents, graphs, images, sound, text."""

from __future__ import annotations

from jobs_kinds import IMAGES, Job, driven, model

_AGENT = """
import numpy as np
from utils import ReplayBuffer
memory = ReplayBuffer(5, 2, 100)
for _ in range(60):
    drawn = np.random.randn(13)
    memory.add(drawn[:5], drawn[5:7].clip(-1, 1), drawn[7:12], drawn[12], _ % 20 == 19)
agent = getattr(m, m.__name__.removeprefix("Our"))(5, 2, 1.0)
for _ in range(6):
    agent.train(memory, 16)
"""
_ROLLOUTS = """
import numpy as np
for continuous in (False, True):
    agent = m.PPO(4, 2, 0.0003, 0.001, 0.99, 3, 0.2, continuous)
    for _ in range(2):
        for step in range(12):
            agent.select_action(np.random.randn(4))
            agent.buffer.rewards.append(float(np.random.randn()))
            agent.buffer.is_terminals.append(step % 6 == 5)
        agent.update()
"""
_ENTROPY = """
import argparse
import numpy as np
from replay_memory import ReplayMemory
space = argparse.Namespace(shape=(2,), high=np.ones(2), low=-np.ones(2))
memory = ReplayMemory(100, 0)
for _ in range(40):
    drawn = np.random.randn(13)
    memory.push(drawn[:5], drawn[5:7].clip(-1, 1), drawn[7], drawn[8:], 1.0)
for policy, tuned in (("Gaussian", True), ("Deterministic", False)):
    args = argparse.Namespace(gamma=0.99, tau=0.005, alpha=0.2, policy=policy, cuda=False, lr=3e-4,
                              target_update_interval=1, automatic_entropy_tuning=tuned,
                              hidden_size=16)
    agent = m.SAC(5, space, args)
    for step in range(3):
        agent.update_parameters(memory, 16, step)
"""


def _agents() -> list[Job]:
    haarnoja = "pranz24/pytorch-soft-actor-critic"
    rainbow = (
        "import argparse\nargs = argparse.Namespace(atoms=7, architecture='data-efficient', "
        "history_length=4, hidden_size=16, noisy_std=0.1)"
    )
    return [
        *(driven("sfujim/TD3", name, _AGENT) for name in ("TD3", "DDPG", "OurDDPG")),
        driven("nikhilbarhate99/PPO-PyTorch", "PPO", _ROLLOUTS),
        driven(haarnoja, "sac", _ENTROPY),
        model("Kaixhin/Rainbow", "model.py", "m.DQN(args, 5)", "torch.rand(2, 4, 84, 84)",
              more=rainbow),
    ]  # fmt: skip


_SERIES = """
import argparse
configs = argparse.Namespace(
    task_name="long_term_forecast", seq_len=24, label_len=12, pred_len=12, enc_in=3, dec_in=3,
    c_out=3, d_model=16, d_ff=16, n_heads=2, e_layers=2, d_layers=2, dropout=0.1, factor=1,
    embed="timeF", freq="h", activation="gelu", top_k=3, num_kernels=2, moving_avg=5, num_class=4,
    p_hidden_dims=[8, 8], p_hidden_layers=2, seg_len=6, channel_independence=1, use_norm=1,
    decomp_method="moving_avg", down_sampling_layers=1, down_sampling_method="avg",
    down_sampling_window=2, patch_len=6, features="M", expand=2, d_conv=4, alpha=0.1, top_p=0.5,
    pos=1, individual=False, output_attention=False, distil=True, embed_type=0,
    conv_channel=8, skip_channel=8, gcn_depth=2, propalpha=0.3, node_dim=4, subgraph_size=2,
)
randn = torch.randn
series = randn(2, 24, 3), randn(2, 24, 4), randn(2, 24, 3), randn(2, 24, 4)
"""
_LIBRARY = (
    "TimesNet", "PatchTST", "iTransformer", "Nonstationary_Transformer", "LightTS", "FreTS",
    "SegRNN", "TiDE", "TSMixer", "TimeMixer", "TimeXer", "Crossformer", "SCINet", "MambaSimple",
    "MSGNet", "ETSformer",
)  # fmt: skip


def _forecasts() -> list[Job]:
    linear = "cure-lab/LTSF-Linear"
    beats = (
        "N = m.NBeatsNet\nstacks = (N.TREND_BLOCK, N.SEASONALITY_BLOCK, N.GENERIC_BLOCK)\n"
        "dims = (3, 4, 6)"
    )
    return [
        *(model("thuml/Time-Series-Library", f"models/{name}.py", "m.Model(configs)", "*series",
                more=_SERIES, steps=3) for name in _LIBRARY),
        *(model(linear, f"models/{name}.py", "m.Model(configs)", "series[0]", more=_SERIES)
          for name in ("Linear", "NLinear", "DLinear")),
        *(model(linear, f"models/{name}.py", "m.Model(configs)", "*series", more=_SERIES, steps=3)
          for name in ("Transformer", "Informer", "Autoformer")),
        model("philipperemy/n-beats", "nbeats_pytorch/model.py",
              "N(stack_types=stacks, thetas_dim=dims, forecast_length=4, backcast_length=8, "
              "hidden_layer_units=16)", "randn(6, 8)", more=beats),
    ]  # fmt: skip


_NEIGHBOURS = """
import random
from graphsage.aggregators import MeanAggregator
table = torch.nn.Embedding(20, 6)
near = {k: {(k + 1) % 20, (k * 7) % 20, (k * 3 + 2) % 20} for k in range(20)}
one = m.Encoder(table, 6, 8, near, MeanAggregator(table), gcn=True)
two = m.Encoder(lambda nodes: one(nodes).t(), 8, 8, near,
                MeanAggregator(lambda nodes: one(nodes).t()), base_model=one, gcn=True)
one.num_samples = two.num_samples = 2
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.last = two, torch.nn.Linear(8, 3)
    def forward(self, nodes):
        return self.last(self.encoder(nodes).t())
"""
_LINKS = """
from gae.optimizer import loss_function
near = (torch.rand(9, 9) > 0.7).float()
near = ((near + near.t()) > 0).float()
weight = torch.tensor(3.0)
def loss(found):
    return loss_function(found[0], near, found[1], found[2], 9, 0.7, weight)
"""
_TRIPLES = """
import numpy as np
batch = {"batch_h": torch.tensor([0, 1, 2, 3, 0, 1]), "batch_t": torch.tensor([4, 5, 6, 7, 8, 9]),
         "batch_r": torch.tensor([0, 1, 2, 0, 1, 2]), "mode": "normal"}
for name in ("TransE", "TransD", "TransR", "TransH", "DistMult", "ComplEx", "RESCAL", "Analogy",
             "SimplE", "RotatE"):
    torch.manual_seed(1)
    kind = getattr(m, name)
    net = kind(10, 3, 4, 4) if name in ("TransD", "TransR") else kind(10, 3, 4)
    optimizer = torch.optim.Adagrad(net.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = (net(batch) ** 2).mean() + 0.01 * net.regularization(batch)
        loss.backward()
        optimizer.step()
"""


def _graphs() -> list[Job]:
    return [
        model("williamleif/graphsage-simple", "graphsage/encoders.py", "Net()",
              "[3, 5, 7, 11]", more=_NEIGHBOURS),
        model("zfjsail/gae-pytorch", "gae/model.py", "m.GCNModelVAE(6, 8, 4, 0.1)",
              "randn(9, 6), near / 9", more=_LINKS),
        driven("thunlp/OpenKE", "openke.module.model", _TRIPLES),
    ]  # fmt: skip


_FLOWS = """
from nflows import distributions, flows, transforms
from nflows.nn import nets
x, given = torch.randn(16, 4), torch.randn(16, 3)
mask = torch.tensor([1.0, 0.0, 1.0, 0.0])
def net(a, b):
    return nets.ResidualNet(a, b, hidden_features=8, context_features=3, num_blocks=1)
steps = {
    "autoregressive": lambda: transforms.MaskedAffineAutoregressiveTransform(
        4, 8, context_features=3),
    "quadratic": lambda: transforms.MaskedPiecewiseRationalQuadraticAutoregressiveTransform(
        4, 8, context_features=3, num_bins=4, tails="linear", tail_bound=3.0),
    "coupling": lambda: transforms.AffineCouplingTransform(mask, net),
    "spline": lambda: transforms.PiecewiseRationalQuadraticCouplingTransform(
        mask, net, num_bins=4, tails="linear", tail_bound=3.0),
    "cubic": lambda: transforms.PiecewiseCubicCouplingTransform(
        mask, net, num_bins=4, tails="linear", tail_bound=3.0),
    "lu": lambda: transforms.LULinear(4, identity_init=False),
    "svd": lambda: transforms.SVDLinear(4, num_householder=2),
    "qr": lambda: transforms.QRLinear(4, num_householder=2),
}
for name, step in steps.items():
    torch.manual_seed(2)
    parts = [step(), transforms.ReversePermutation(4), transforms.ActNorm(4), step()]
    flow = flows.Flow(transforms.CompositeTransform(parts), distributions.StandardNormal([4]))
    optimizer = torch.optim.Adam(flow.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        (-flow.log_prob(x, given).mean()).backward()
        optimizer.step()
    print(name, *flow.sample(2, given[:1]).ravel().tolist()[:4])
"""
_DENOISING = """
diffusion = importlib.import_module("diffusion")
net = m.UNet(T=10, ch=32, ch_mult=[1, 2], attn=[1], num_res_blocks=1, dropout=0.1)
class Trainer(diffusion.GaussianDiffusionTrainer):
    pass
"""
_GUIDED = """
from PACKAGE import gaussian_diffusion as gd, respace
net = m.UNetModel(OPTIONS)
chosen = respace.space_timesteps(20, [10])
diffusion = respace.SpacedDiffusion(
    use_timesteps=chosen, betas=gd.get_named_beta_schedule("cosine", 20),
    model_mean_type=gd.ModelMeanType.EPSILON, model_var_type=gd.ModelVarType.LEARNED_RANGE,
    loss_type=gd.LossType.RESCALED_MSE)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
x = torch.randn(2, 3, 8, 8)
for _ in range(3):
    optimizer.zero_grad()
    t = torch.randint(0, 10, (2,))
    diffusion.training_losses(net, x, t)["loss"].mean().backward()
    optimizer.step()
print(*diffusion.ddim_sample_loop(net, (1, 3, 8, 8), progress=False).ravel().tolist()[:6])
"""
_SIMILAR = """
x, y = torch.rand(2, 3, 40, 40), torch.rand(2, 3, 40, 40)
x.requires_grad_()
optimizer = torch.optim.Adam([x], lr=0.05)
for _ in range(3):
    optimizer.zero_grad()
    (1 - m.ssim(x, y, data_range=1, win_size=7)).backward()
    optimizer.step()
for _ in range(3):
    optimizer.zero_grad()
    (1 - m.ms_ssim(x, y, data_range=1, win_size=3)).backward()
    optimizer.step()
"""
_EMBEDDINGS = """
x = torch.randn(12, 8, requires_grad=True)
labels = torch.arange(12) % 4
from pytorch_metric_learning import distances, miners, reducers
for name in (
    "AngularLoss", "CircleLoss", "ContrastiveLoss", "FastAPLoss", "GeneralizedLiftedStructureLoss",
    "IntraPairVarianceLoss", "LiftedStructureLoss", "MarginLoss", "MultiSimilarityLoss",
    "NPairsLoss", "NCALoss", "NTXentLoss", "PNPLoss", "RankedListLoss", "HistogramLoss",
    "SignalToNoiseRatioContrastiveLoss", "SupConLoss", "TripletMarginLoss", "TupletMarginLoss",
    "DynamicSoftMarginLoss", "ThresholdConsistentMarginLoss",
):
    kind = getattr(m, name)
    made = kind(margin=0.4, Tn=1) if name == "RankedListLoss" else kind()
    made(x, labels).sum().backward()
for name in ("ArcFaceLoss", "CosFaceLoss", "LargeMarginSoftmaxLoss", "NormalizedSoftmaxLoss",
             "ProxyAnchorLoss", "ProxyNCALoss", "SoftTripleLoss", "SphereFaceLoss",
             "SubCenterArcFaceLoss"):
    torch.manual_seed(3)
    made = getattr(m, name)(num_classes=4, embedding_size=8)
    optimizer = torch.optim.SGD(made.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        made(x, labels).backward()
        optimizer.step()
chosen = miners.MultiSimilarityMiner()(x, labels)
m.TripletMarginLoss(distance=distances.CosineSimilarity(),
                    reducer=reducers.ThresholdReducer(low=0))(x, labels, chosen).backward()
"""
_SEARCH = """
import argparse
torch.Tensor.cuda = lambda self, *args, **options: self
torch.nn.Module.cuda = lambda self, *args: self
architect = importlib.import_module("architect")
criterion = torch.nn.CrossEntropyLoss()
net = m.Network(4, 3, 3, criterion, steps=2, multiplier=2)
args = argparse.Namespace(momentum=0.9, weight_decay=3e-4, arch_learning_rate=3e-3,
                          arch_weight_decay=1e-3)
search = architect.Architect(net, args)
optimizer = torch.optim.SGD(net.parameters(), 0.025, momentum=0.9, weight_decay=3e-4)
x, y = torch.randn(2, 3, 16, 16), torch.tensor([0, 2])
for _ in range(2):
    search.step(x, y, x.flip(0), y.flip(0), 0.025, optimizer, unrolled=False)
    optimizer.zero_grad()
    criterion(net(x), y).backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 5)
    optimizer.step()
"""


def _images() -> list[Job]:
    small = "image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, heads=2, mlp_dim=64"
    cifar = {
        "vit": f"m.ViT({small}, dropout=0.1, emb_dropout=0.1)",
        "simplevit": f"m.SimpleViT({small})",
        "vit_small": f"m.ViT({small})",
        "convmixer": "m.ConvMixer(16, 2, kernel_size=5, patch_size=4, n_classes=10)",
        "mlpmixer": "m.MLPMixer(image_size=32, channels=3, patch_size=8, dim=16, depth=2, "
                    "num_classes=10)",
        "cait": "m.CaiT(image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, cls_depth=1, "
                "heads=2, mlp_dim=64)",
        "swin": "m.swin_t(hidden_dim=16, layers=(2, 2, 2, 2), heads=(2, 2, 2, 2), num_classes=10, "
                "window_size=2, downscaling_factors=(2, 2, 2, 1), head_dim=8)",
        "mobilevit": "m.mobilevit_xxs(64, 10)",
    }  # fmt: skip
    x = "randn(2, 3, 32, 32)"
    options = {
        "improved_diffusion": (
            "in_channels=3, model_channels=32, out_channels=6, num_res_blocks=1, "
            "attention_resolutions=(2,), channel_mult=(1, 2), use_scale_shift_norm=True"
        ),
        "guided_diffusion": (
            "image_size=8, in_channels=3, model_channels=32, out_channels=6, num_res_blocks=1, "
            "attention_resolutions=(2,), channel_mult=(1, 2), resblock_updown=True, "
            "use_new_attention_order=True"
        ),
    }
    return [
        *(model("kentaroy47/vision-transformers-cifar10", f"models/{name}.py", made,
                "randn(2, 3, 64, 64)" if name == "mobilevit" else x, steps=3)
          for name, made in cifar.items()),
        *(driven(f"openai/{name.replace('_', '-')}", f"{name}.unet",
                 _GUIDED.replace("PACKAGE", name).replace("OPTIONS", more))
          for name, more in options.items()),
        model("openai/CLIP", "clip/model.py",
              "m.CLIP(16, 32, 2, 32, 8, 10, 40, 32, 2, 2)",
              f"{x}, randint(1, 40, (2, 10))", steps=3, roots=("clip",), module="model"),
        model("openai/CLIP", "clip/model.py",
              "m.CLIP(16, 32, (1, 1, 1, 1), 8, None, 10, 40, 32, 2, 2)",
              f"{x}, randint(1, 40, (2, 10))", steps=3, kind="with a ResNet", roots=("clip",),
              module="model"),
        model("facebookresearch/dino", "vision_transformer.py",
              "torch.nn.Sequential(m.VisionTransformer([32], 8, embed_dim=32, depth=2, "
              "num_heads=2, drop_path_rate=0.2), m.DINOHead(32, 20, hidden_dim=16, "
              "bottleneck_dim=8))", x),
        model("bamos/densenet.pytorch", "densenet.py", "m.DenseNet(4, 10, 0.5, 10, True)", x,
              steps=3),
        model("kekmodel/FixMatch-pytorch", "models/wideresnet.py",
              "m.WideResNet(10, depth=10, widen_factor=1, drop_rate=0.2)", "randn(4, 3, 32, 32)",
              steps=3),
        model("rosinality/glow-pytorch", "model.py", "m.Glow(3, 2, 2)", "randn(2, 3, 8, 8)",
              steps=3, more="loss = lambda found: -(found[0] + found[1]).mean() / 192"),
        model("rosinality/vq-vae-2-pytorch", "vqvae.py",
              "m.VQVAE(channel=8, n_res_block=1, n_res_channel=4, embed_dim=4, n_embed=10)", x,
              steps=3),
        model("rosinality/vq-vae-2-pytorch", "pixelsnail.py",
              "m.PixelSNAIL([4, 4], 8, 16, 3, 1, 1, 4, cond_res_channel=4)",
              "randint(0, 8, (2, 4, 4))", steps=3),
        model("w86763777/pytorch-ddpm", "model.py", "Trainer(net, 1e-4, 0.02, 10)",
              "randn(2, 3, 8, 8)", steps=3, more=_DENOISING),
        model("ritheshkumar95/pytorch-vqvae", "modules.py", "m.VectorQuantizedVAE(3, 8, 12)",
              "randn(3, 3, 16, 16)"),
        model("ritheshkumar95/pytorch-vqvae", "modules.py", "m.VAE(3, 8, 4)",
              "randn(3, 3, 32, 32)", kind="VAE"),
        model("ritheshkumar95/pytorch-vqvae", "modules.py", "m.GatedPixelCNN(8, 8, 3)",
              "randint(0, 8, (2, 6, 6)), torch.tensor([1, 2])", kind="PixelCNN"),
        model("ndrplz/ConvLSTM_pytorch", "convlstm.py",
              "m.ConvLSTM(2, [4, 3], (3, 3), 2, True, return_all_layers=True)",
              "randn(2, 4, 2, 6, 6)"),
        driven("VainF/pytorch-msssim", "pytorch_msssim", _SIMILAR),
        driven("bayesiains/nflows", "nflows", _FLOWS),
        driven("KevinMusgrave/pytorch-metric-learning", "pytorch_metric_learning.losses",
               _EMBEDDINGS, "src"),
        driven("quark0/darts", "model_search", _SEARCH, "cnn"),
        Job("timbmg/VAE-CVAE-MNIST", "train.py", ("--epochs", "1", "--batch_size", "16"),
            data=IMAGES),
        Job("timbmg/VAE-CVAE-MNIST", "train.py",
            ("--epochs", "1", "--batch_size", "16", "--conditional"), data=IMAGES,
            kind="conditional"),
        Job("jzbontar/pixelcnn-pytorch", "main.py", data=IMAGES),
    ]  # fmt: skip


_NETS = """
net = torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(),
                          torch.nn.Flatten(), torch.nn.Linear(144, 5))
x, y = torch.randn(8, 1, 8, 8), torch.randint(0, 5, (8,))
for kind, more in ((m.AdamP, {"nesterov": True}), (m.SGDP, {"momentum": 0.9, "lr": 0.05})):
    optimizer = kind(net.parameters(), weight_decay=1e-2, **more)
    for _ in range(4):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
"""
_RWKV = """
config = m.GPTConfig(30, 12, model_type=KIND, n_layer=2, n_head=2, n_embd=16, n_attn=16, n_ffn=32,
                     rwkv_emb_scale=0.4, rwkv_tiny_attn=0, rwkv_tiny_head=0)
loss = lambda found: found[1]
"""
_HACKS = """
m.test_grad1()
m.test_hess()
print(1.5)
"""


def _text_and_sound() -> list[Job]:
    tokens = "randint(0, 30, (2, 9))"
    return [
        model("hkproj/pytorch-transformer", "model.py", "Net()", "", steps=3, more="""
made = m.build_transformer(30, 20, 9, 7, d_model=16, N=2, h=2, d_ff=32)
source, target = torch.randint(0, 30, (2, 9)), torch.randint(0, 20, (2, 7))
mask = torch.tril(torch.ones(1, 7, 7)).int()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.made = made
    def forward(self):
        kept = torch.ones(2, 1, 1, 9)
        found = self.made.encode(source, kept)
        return self.made.project(self.made.decode(found, kept, target, mask))
"""),
        model("lyeoni/gpt-pytorch", "model.py",
              "m.GPTLMHead(m.GPT(30, seq_len=9, d_model=16, n_layers=2, n_heads=2, d_ff=32))",
              "randint(1, 30, (2, 9))", steps=3),
        *(model("BlinkDL/RWKV-LM", "RWKV-v1/src/model.py", "m.GPT(config)",
                "randint(0, 30, (2, 12)), randint(0, 30, (2, 12))", roots=("RWKV-v1",), steps=3,
                more=_RWKV.replace("KIND", repr(kind)), kind=kind)
          for kind in ("RWKV", "MHA_rotary", "MHA_pro")),
        model("sooftware/conformer", "conformer/model.py",
              "m.Conformer(8, 10, 16, 2, 2)",
              "randn(2, 21, 10), torch.tensor([21, 17])", steps=3),
        driven("clovaai/AdamP", "adamp", _NETS),
        driven("cybertronai/autograd-hacks", "autograd_hacks_test", _HACKS),
        model("joansj/hat", "networks/mlp_hat.py", "m.Net((1, 8, 8), [(0, 3), (1, 2)], nhid=8)",
              "torch.tensor([1]), randn(4, 1, 8, 8)", roots=("src",), steps=3),
        model("lopuhin/transformer-lm", "lm/model.py",
              "m.Model(m.HParams(30, 12, 16, 2, 2, True))", tokens, steps=3),
    ]  # fmt: skip


BY_FIELD: list[Job] = [
    *_agents(), *_forecasts(), *_graphs(), *_images(), *_text_and_sound(),
]  # fmt: skip
