"""The public scripts and models that are run, and what each is given in place of its data."""

from __future__ import annotations

from by_field import BY_FIELD
from jobs_kinds import IMAGES, Job, model
from looking import LOOKING
from wider import WIDER


def _scripts(repository: str, data: str, *paths: str, **options: object) -> list[Job]:
    # of the options each has a type of its own
    return [Job(repository, path, data=data, **options) for path in paths]  # type: ignore[arg-type]


def _gans() -> list[Job]:
    names = (
        "gan", "wgan", "wgan_gp", "wgan_div", "lsgan", "dcgan", "cgan", "acgan", "sgan", "infogan",
        "softmax_gan", "bgan", "began", "ebgan", "dragan", "relativistic_gan", "aae", "cogan",
    )  # fmt: skip
    files = {"wgan_div": "wgan_div", "aae": "aae"}
    return [
        Job("eriklindernoren/PyTorch-GAN", f"implementations/{name}/{files.get(name, name)}.py",
            data=IMAGES, steps=6,
            args=("--n_epochs", "1", "--batch_size", "16"))
        for name in names
    ]  # fmt: skip


def _cifar() -> list[Job]:
    models = {
        "lenet": "LeNet()", "resnet": "ResNet18()", "preact_resnet": "PreActResNet18()",
        "googlenet": "GoogLeNet()", "densenet": "densenet_cifar()", "resnext": "ResNeXt29_2x64d()",
        "mobilenet": "MobileNet()", "mobilenetv2": "MobileNetV2()", "dpn": "DPN26()",
        "shufflenet": "ShuffleNetG2()", "senet": "SENet18()", "shufflenetv2": "ShuffleNetV2(1)",
        "efficientnet": "EfficientNetB0()", "regnet": "RegNetX_200MF()", "pnasnet": "PNASNetA()",
        "dla_simple": "SimpleDLA()", "dla": "DLA()", "vgg": "VGG('VGG11')",
    }  # fmt: skip
    return [
        model("kuangliu/pytorch-cifar", f"models/{name}.py", f"m.{make}", "randn(2, 3, 32, 32)",
               steps=3)
        for name, make in models.items()
    ]  # fmt: skip


def _cifar100() -> list[Job]:
    models = {
        "attention": "attention56()", "inceptionv3": "inceptionv3()", "nasnet": "nasnet()",
        "squeezenet": "squeezenet()", "stochasticdepth": "stochastic_depth_resnet18()",
        "rir": "resnet_in_resnet()", "wideresidual": "wideresnet(10, 1)", "xception": "xception()",
    }  # fmt: skip
    return [
        model("weiaicunzai/pytorch-cifar100", f"models/{name}.py", f"m.{make}",
               "randn(2, 3, 32, 32)", steps=3)
        for name, make in models.items()
    ]  # fmt: skip


_VIT = "image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, heads=2, mlp_dim=64"


def _vits() -> list[Job]:
    small = {
        "vit": f"ViT({_VIT}, dropout=0.1, emb_dropout=0.1)",
        "simple_vit": f"SimpleViT({_VIT})",
        "deepvit": f"DeepViT({_VIT})",
        "cait": "CaiT(image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, cls_depth=1, "
                "heads=2, mlp_dim=64)",
        "vit_for_small_dataset": f"ViT({_VIT})",
        "parallel_vit": f"ViT({_VIT})",
        "rvt": f"RvT({_VIT})",
        "simple_vit_with_register_tokens": f"SimpleViT({_VIT})",
        "simple_vit_with_qk_norm": f"SimpleViT({_VIT})",
        "simple_vit_with_fft": f"SimpleViT({_VIT}, freq_patch_size=8)",
        "simple_vit_with_patch_dropout": f"SimpleViT({_VIT}, patch_dropout=0.5)",
        "vit_with_patch_dropout": f"ViT({_VIT}, patch_dropout=0.5)",
        "vit_with_patch_merger": f"ViT({_VIT})",
        "learnable_memory_vit": f"ViT({_VIT})",
        "ats_vit": f"ViT({_VIT}, max_tokens_per_depth=(8, 4))",
        "xcit": "XCiT(image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, cls_depth=1, "
                "heads=2, mlp_dim=64)",
        "pit": "PiT(image_size=32, patch_size=8, dim=32, num_classes=10, depth=(1, 1), heads=2, "
               "mlp_dim=64)",
        "t2t": "T2TViT(image_size=32, dim=32, depth=1, heads=2, mlp_dim=64, num_classes=10)",
        "cct": "CCT(img_size=32, embedding_dim=32, n_conv_layers=1, kernel_size=3, stride=2, "
               "padding=1, num_layers=2, num_heads=2, mlp_ratio=2, num_classes=10, "
               "positional_embedding='learnable')",
        "normalized_vit": "nViT(image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, "
                          "heads=2, mlp_dim=64)",
    }  # fmt: skip
    large = {
        "levit": "LeViT(image_size=64, num_classes=10, stages=2, dim=(16, 32), depth=1, "
                 "heads=(2, 4), mlp_mult=2, dim_key=8, dim_value=16)",
        "cvt": "CvT(num_classes=10, s1_emb_dim=16, s1_heads=1, s1_depth=1, s2_emb_dim=32, "
               "s2_heads=1, s2_depth=1, s3_emb_dim=32, s3_heads=1, s3_depth=1)",
        "twins_svt": "TwinsSVT(num_classes=10, s1_emb_dim=16, s2_emb_dim=16, s3_emb_dim=16, "
                     "s4_emb_dim=16, s1_depth=1, s2_depth=1, s3_depth=1, s4_depth=1, "
                     "s1_local_patch_size=4, s2_local_patch_size=4, s3_local_patch_size=2, "
                     "s4_local_patch_size=1, s1_global_k=4, s2_global_k=4, s3_global_k=2, "
                     "s4_global_k=1)",
        "max_vit": "MaxViT(num_classes=10, dim_conv_stem=8, dim=16, dim_head=8, depth=(1, 1), "
                   "window_size=4, dropout=0.1)",
        "mobile_vit": "MobileViT(image_size=(64, 64), dims=[16, 20, 24], channels=[8, 8, 12, 12, "
                      "16, 16, 20, 20, 24, 24, 32], num_classes=10)",
        "nest": "NesT(image_size=64, patch_size=8, dim=16, heads=2, num_hierarchies=2, "
                "block_repeats=(1, 1), num_classes=10)",
        "crossformer": "CrossFormer(num_classes=10, dim=(32, 32, 32, 32), depth=(1, 1, 1, 1), "
                       "global_window_size=(4, 2, 1, 1), local_window_size=(4, 2, 2, 2))",
        "regionvit": "RegionViT(dim=(8, 16, 16, 32), depth=(1, 1, 1, 1), window_size=2, "
                     "num_classes=10)",
        "scalable_vit": "ScalableViT(num_classes=10, dim=16, heads=(2, 2), depth=(1, 1), "
                        "ssa_dim_key=(8, 8), reduction_factor=(2, 1), window_size=(8, 4))",
    }  # fmt: skip
    here = "lucidrains/vit-pytorch"
    return [
        *(model(here, f"vit_pytorch/{name}.py", f"m.{make}", "randn(2, 3, 32, 32)")
          for name, make in small.items()),
        *(model(here, f"vit_pytorch/{name}.py", f"m.{make}", "randn(2, 3, 64, 64)")
          for name, make in large.items()),
    ]  # fmt: skip


def _examples() -> list[Job]:
    here = "pytorch/examples"
    return [
        Job(here, "mnist/main.py", ("--epochs", "1"), data=IMAGES),
        Job(here, "mnist_rnn/main.py", ("--epochs", "1"), data=IMAGES),
        Job(here, "vae/main.py", ("--epochs", "2"), data=IMAGES),
        Job(here, "siamese_network/main.py", ("--epochs", "1"), data=IMAGES, steps=4),
        Job(here, "mnist_forward_forward/main.py",
            ("--train_size", "200", "--test_size", "50", "--epochs", "20"), data=IMAGES),
        Job(here, "dcgan/main.py",
            ("--dataset", "mnist", "--dataroot", ".", "--batchSize", "8", "--ngf", "8",
             "--ndf", "8", "--niter", "1"), data=IMAGES, steps=8),
        Job(here, "regression/main.py"),
        Job(here, "gcn/main.py", data="a made-up graph as Cora"),
        Job(here, "gat/main.py", data="a made-up graph as Cora"),
        Job(here, "imagenet/main.py",
            ("--dummy", "-a", "resnet18", "-b", "4", "--epochs", "1", "-j", "0"), data=IMAGES,
            steps=4),
        Job(here, "reinforcement_learning/reinforce.py", steps=6),
        Job(here, "reinforcement_learning/actor_critic.py", steps=6),
        Job(here, "word_language_model/main.py",
            ("--data", "data", "--epochs", "1", "--emsize", "16", "--nhid", "16"),
            files=("data/train.txt", "data/valid.txt", "data/test.txt"), data="made-up text"),
        Job(here, "word_language_model/main.py",
            ("--data", "data", "--model", "Transformer", "--epochs", "1", "--emsize", "16",
             "--nhid", "16", "--nhead", "2"),
            files=("data/train.txt", "data/valid.txt", "data/test.txt"), data="made-up text"),
        model(here, "super_resolution/model.py", "m.Net(3)", "randn(2, 1, 16, 16)",
               roots=("super_resolution",)),
        model(here, "fast_neural_style/neural_style/transformer_net.py", "m.TransformerNet()",
               "randn(1, 3, 32, 32)", roots=("fast_neural_style/neural_style",)),
        model(here, "language_translation/src/model.py",
               "m.Translator(2, 2, 16, 2, 20, 20, 32, 0.1)",
               "randint(0, 20, (5, 3)), randint(0, 20, (4, 3)), None, None, None, None, None",
               roots=("language_translation/src",)),
    ]  # fmt: skip


def _tutorials() -> list[Job]:
    yunjey, morvan = "yunjey/pytorch-tutorial", "MorvanZhou/PyTorch-Tutorial"
    basics, further = "tutorials/01-basics", "tutorials/02-intermediate"
    johnson, graykode = "jcjohnson/pytorch-examples", "graykode/nlp-tutorial"
    patrick, xing = "patrickloeber/pytorchTutorial", "L1aoXingyu/pytorch-beginner"
    return [
        *_scripts(yunjey, IMAGES, f"{basics}/feedforward_neural_network/main.py",
                  f"{basics}/logistic_regression/main.py",
                  f"{further}/convolutional_neural_network/main.py",
                  f"{further}/recurrent_neural_network/main.py",
                  f"{further}/bidirectional_recurrent_neural_network/main.py",
                  "tutorials/03-advanced/generative_adversarial_network/main.py",
                  "tutorials/03-advanced/variational_autoencoder/main.py"),
        Job(yunjey, f"{basics}/linear_regression/main.py"),
        Job(yunjey, f"{basics}/pytorch_basics/main.py", data=IMAGES),
        Job(yunjey, f"{further}/deep_residual_network/main.py", data=IMAGES, steps=3),
        Job(yunjey, f"{further}/language_model/main.py", files=("data/train.txt",), steps=3,
            data="made-up text"),
        *_scripts(morvan, "-", *(f"tutorial-contents/{name}.py" for name in (
            "201_torch_numpy", "202_variable", "301_regression",
            "302_classification", "304_save_reload", "306_optimizer", "403_RNN_regressor",
            "406_GAN", "406_conditional_GAN",
            "501_why_torch_dynamic_graph", "503_dropout", "504_batch_normalization"))),
        *_scripts(morvan, IMAGES, *(f"tutorial-contents/{name}.py" for name in (
            "401_CNN", "402_RNN_classifier", "404_autoencoder"))),
        *_scripts(johnson, "-", "autograd/two_layer_net_autograd.py",
                  "autograd/two_layer_net_custom_function.py", "nn/dynamic_net.py",
                  "nn/two_layer_net_module.py", "nn/two_layer_net_nn.py",
                  "nn/two_layer_net_optim.py", "tensor/two_layer_net_tensor.py"),
        *_scripts(graykode, "-", "1-1.NNLM/NNLM.py", "1-2.Word2Vec/Word2Vec-Skipgram(Softmax).py",
                  "2-1.TextCNN/TextCNN.py", "3-1.TextRNN/TextRNN.py", "3-2.TextLSTM/TextLSTM.py",
                  "3-3.Bi-LSTM/Bi-LSTM.py", "4-1.Seq2Seq/Seq2Seq.py",
                  "4-2.Seq2Seq(Attention)/Seq2Seq(Attention).py",
                  "4-3.Bi-LSTM(Attention)/Bi-LSTM(Attention).py",
                  "5-1.Transformer/Transformer.py",
                  "5-1.Transformer/Transformer(Greedy_decoder).py",
                  "5-2.BERT/BERT.py"),
        *_scripts(patrick, "-", "03_autograd.py", "04_backpropagation.py",
                  "05_2_gradientdescent_auto.py", "06_1_loss_and_optimizer.py",
                  "06_2_model_loss_and_ optimizer.py", "07_linear_regression.py",
                  "08_logistic_regression.py", "11_softmax_and_crossentropy.py",
                  "12_activation_functions.py", "17_save_load.py", "02_tensor_basics.py"),
        *_scripts(patrick, IMAGES, "13_feedforward.py", "14_cnn.py"),
        *_scripts(xing, IMAGES, "02-Logistic Regression/Logistic_Regression.py",
                  "03-Neural Network/neural_network.py",
                  "05-Recurrent Neural Network/recurrent_network.py",
                  "08-AutoEncoder/Variational_autoencoder.py", "08-AutoEncoder/conv_autoencoder.py",
                  "08-AutoEncoder/simple_autoencoder.py",
                  "09-Generative Adversarial network/conv_gan.py",
                  "09-Generative Adversarial network/simple_Gan.py"),
        *_scripts(xing, "-", "01-Linear Regression/Linear_Regression.py",
                  "06-Natural Language Process/N-Gram.py",
                  "06-Natural Language Process/bag-of-word.py",
                  "06-Natural Language Process/seq-lstm.py", "11-backward/backward.py"),
        *_scripts("znxlwm/pytorch-MNIST-CelebA-GAN-DCGAN", IMAGES, "pytorch_MNIST_GAN.py"),
        Job("znxlwm/pytorch-MNIST-CelebA-GAN-DCGAN", "pytorch_MNIST_DCGAN.py", data=IMAGES,
            steps=2),
    ]  # fmt: skip


def _zero_to_all() -> list[Job]:
    here = "hunkim/PyTorchZeroToAll"
    return [
        *_scripts(here, "-", "01_basics.py", "02_manual_gradient.py", "03_auto_gradient.py",
                  "05_linear_regression.py", "06_logistic_regression.py", "09_01_softmax_loss.py",
                  "12_1_rnn_basics.py", "12_2_hello_rnn.py", "12_3_hello_rnn_seq.py",
                  "12_4_hello_rnn_emb.py", "13_1_rnn_classification_basics.py",
                  "13_2_rnn_classification.py", "13_4_pack_pad.py", "13_3_char_rnn.py",
                  "14_1_seq2seq.py", "14_2_seq2seq_att.py", "07_diabets_logistic.py",
                  "08_1_dataset_loader.py", "08_2_dataset_loade_logistic.py", cwd="."),
        *_scripts(here, IMAGES, "09_2_softmax_mnist.py", "10_1_cnn_mnist.py",
                  "11_1_toy_inception_mnist.py"),
    ]  # fmt: skip


def _language() -> list[Job]:
    gpt = (
        "config = m.GPTConfig(block_size=16, vocab_size=30, n_layer=2, n_head=2, n_embd=32, "
        "dropout=0.1)"
    )
    small = (
        "config = m.GPT.get_default_config()\nconfig.model_type = None\nconfig.n_layer = 2\n"
        "config.n_head = 2\nconfig.n_embd = 32\nconfig.vocab_size = 30\nconfig.block_size = 16"
    )
    of_tokens = "randint(0, 30, (3, 16)), randint(0, 30, (3, 16))"
    last = "loss = lambda found: found[1]"
    names = ("names.txt",)
    text = ("input.txt",)
    makemore = [
        Job("karpathy/makemore", "makemore.py",
            ("-i", "names.txt", "--type", kind, "--max-steps", "20", "--n-embd", "16",
             "--n-embd2", "16", "--batch-size", "8", "--num-workers", "0"),
            files=names, data="made-up names")
        for kind in ("transformer", "bigram", "mlp", "rnn", "gru", "bow")
    ]  # fmt: skip
    return [
        model("karpathy/nanoGPT", "model.py", "m.GPT(config)", of_tokens, more=gpt + "\n" + last),
        model("karpathy/minGPT", "mingpt/model.py", "m.GPT(config)", of_tokens,
               more=small + "\n" + last),
        Job("karpathy/minGPT", "projects/adder/adder.py",
            ("--system.work_dir=out", "--trainer.num_workers=0"), roots=(".",), steps=4),
        *makemore,
        Job("karpathy/ng-video-lecture", "bigram.py", files=text, data="made-up text"),
        model("johnma2006/mamba-minimal", "model.py", "m.Mamba(args)", "randint(0, 30, (2, 10))",
               more="args = m.ModelArgs(d_model=16, n_layer=2, vocab_size=30)"),
        model("jadore801120/attention-is-all-you-need-pytorch", "transformer/Models.py",
               "m.Transformer(30, 30, 0, 0, d_word_vec=16, d_model=16, d_inner=32, n_layers=2, "
               "n_head=2, d_k=8, d_v=8)", "randint(1, 30, (2, 7)), randint(1, 30, (2, 6))"),
        model("spro/practical-pytorch", "char-rnn-generation/model.py", "Driven()",
               "randint(0, 20, (1,))", roots=("char-rnn-generation",),
               more="class Driven(m.RNN):\n    def __init__(self):\n"
                    "        super().__init__(20, 16, 20, 2)\n    def forward(self, x):\n"
                    "        return super().forward(x, self.init_hidden())[0]"),
        model("tkipf/pygcn", "pygcn/models.py", "m.GCN(8, 16, 3, 0.5)",
               "randn(10, 8), torch.eye(10)"),
    ]  # fmt: skip


def _games() -> list[Job]:
    return [
        Job("seungeunrho/minimalRL", f"{name}.py", steps=6)
        for name in ("REINFORCE", "actor_critic", "dqn", "ppo", "ppo-lstm", "ppo-continuous",
                     "ddpg", "sac", "acer", "vtrace")
    ]  # fmt: skip


def _autoencoders() -> list[Job]:
    models = {
        "vanilla_vae": "VanillaVAE(3, 8, hidden_dims=[4, 8, 8, 8, 16])",
        "beta_vae": "BetaVAE(3, 8)", "vq_vae": "VQVAE(3, 8, 16, hidden_dims=[8, 16])",
        "swae": "SWAE(3, 8)", "wae_mmd": "WAE_MMD(3, 8)", "info_vae": "InfoVAE(3, 8)",
        "iwae": "IWAE(3, 8)", "miwae": "MIWAE(3, 8)",
        "dip_vae": "DIPVAE(3, 8)", "betatc_vae": "BetaTCVAE(3, 8)",
        "cat_vae": "CategoricalVAE(3, 8)",
        "joint_vae": "JointVAE(3, 8, 8, 0.0, 25.0)",
    }  # fmt: skip
    return [
        model("AntixK/PyTorch-VAE", f"models/{name}.py", f"m.{make}", "randn(2, 3, 64, 64)",
               steps=2,
               more="loss = lambda found: model.loss_function(*found, M_N=0.5, optimizer_idx=0, "
                    "batch_idx=0)['loss']")
        for name, make in models.items()
    ]  # fmt: skip


def _papers() -> list[Job]:
    here = "labmlai/annotated_deep_learning_paper_implementations"
    of = "randn(5, 2, 16)"
    return [
        model(here, "labml_nn/resnet/__init__.py",
               "m.ResNetBase([1, 1], [8, 16], first_kernel_size=3)", "randn(2, 3, 16, 16)"),
        model(here, "labml_nn/conv_mixer/__init__.py",
               "m.ConvMixer(m.ConvMixerLayer(8, 3), 2, m.PatchEmbeddings(8, 4, 3), "
               "m.ClassificationHead(8, 10))", "randn(2, 3, 16, 16)"),
        model(here, "labml_nn/lstm/__init__.py", "m.LSTM(4, 8, 2)", "randn(5, 2, 4)"),
        model(here, "labml_nn/hypernetworks/hyper_lstm.py", "m.HyperLSTM(4, 8, 6, 4, 2)",
               "randn(5, 2, 4)"),
        model(here, "labml_nn/recurrent_highway_networks/__init__.py", "m.RHN(4, 8, 2, 1)",
               "randn(5, 2, 4)"),
        model(here, "labml_nn/transformers/fnet/__init__.py", "m.FNetMix()", of,
               more="class M(torch.nn.Module): pass"),
        model(here, "labml_nn/graphs/gat/__init__.py", "m.GraphAttentionLayer(8, 16, 2)",
               "randn(6, 8), torch.ones(6, 6, 1)"),
        model(here, "labml_nn/capsule_networks/__init__.py", "Driven(6, 3, 4, 5, 3)",
               "randn(2, 6, 4)", more="Driven = m.Router"),
        model(here, "labml_nn/normalization/weight_standardization/conv2d.py",
               "m.Conv2d(4, 4, 3)", "randn(2, 4, 8, 8)"),
        model(here, "labml_nn/diffusion/ddpm/unet.py",
               "m.UNet(3, 8, (1, 2), (False, True), 1)", "randn(2, 3, 8, 8), torch.tensor([1, 2])",
               steps=2),
        model("milesial/Pytorch-UNet", "unet/unet_model.py", "m.UNet(1, 2, True)",
               "randn(1, 1, 32, 32)", steps=2),
    ]  # fmt: skip


JOBS: list[Job] = [
    *_examples(), *_tutorials(), *_zero_to_all(), *_language(), *_games(), *_gans(), *_cifar(),
    *_cifar100(), *_vits(), *_autoencoders(), *_papers(), *WIDER,
    *BY_FIELD, *LOOKING,
]  # fmt: skip
