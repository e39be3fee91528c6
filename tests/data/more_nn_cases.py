"""Expressions on further layers and functions of networks: see `tests.expressions`."""

_BAG = "torch.tensor([0, 2, 1, 1, 4, 3, 0])"

VALUES = [
    "F.conv3d(x22434, y32322, z3)", "F.conv3d(x2434, y32322)",
    "F.conv3d(x22434, y42222, None, (2, 1, 1), (1, 0, 2), (1, 2, 1))",
    "F.conv3d(x12433, y41222, z4, groups=2)", "F.conv3d(x11333, y21222, padding='same')",
    "fixed(nn.Conv3d(2, 3, 2, 2, 1))(x22434)",
    "fixed(nn.Conv3d(2, 2, 3, padding=1, padding_mode='replicate'))(x12333)",
    "F.conv_transpose3d(x12323, y23222, z3)",
    "F.conv_transpose3d(x12323, y21222, None, (2, 1, 2), (1, 0, 1), (1, 0, 0), 2, (1, 2, 1))",
    "fixed(nn.ConvTranspose3d(2, 3, 2, 2))(x12222)",
    "F.max_pool3d(x12444, 2)", "F.max_pool3d(x2454, (2, 3, 2), (1, 2, 1), (1, 1, 0))",
    "F.max_pool3d(x12444, 3, 2, 1, return_indices=True)", "nn.MaxPool3d(2, ceil_mode=True)(x12555)",
    "F.avg_pool3d(x12444, 2)", "F.avg_pool3d(x12444, 3, 2, 1, count_include_pad=False)",
    "nn.AvgPool3d(2, ceil_mode=True)(x12555)", "F.avg_pool3d(x12444, 2, divisor_override=3)",
    "F.adaptive_avg_pool3d(x12435, (2, 3, 2))", "nn.AdaptiveAvgPool3d((None, 2, 1))(x12434)",
    "F.adaptive_max_pool1d(x237, 3, True)", "nn.AdaptiveMaxPool1d(4)(x38)",
    "F.adaptive_max_pool2d(x2376, (3, 2), True)", "nn.AdaptiveMaxPool2d((None, 4))(x2376)",
    "F.adaptive_max_pool3d(x12435, 2)",
    "F.max_unpool1d(*F.max_pool1d(x238, 2, return_indices=True), 2)",
    "F.max_unpool2d(*F.max_pool2d(x1244, 2, return_indices=True), 2)",
    "F.max_unpool2d(*F.max_pool2d(x1255, 2, return_indices=True), 2, output_size=(5, 5))",
    "nn.MaxUnpool3d(2)(*F.max_pool3d(x12444, 2, return_indices=True))",
    "nn.MaxUnpool1d(3, 2)(*F.max_pool1d(x27, 3, 2, return_indices=True))",
    *(
        f"F.interpolate({x}, {size}, mode='{mode}'{align})"
        for x, size, modes in (
            ("x235", "7", ("nearest", "nearest-exact", "linear", "area")),
            ("x235", "3", ("nearest", "nearest-exact", "linear", "area")),
            ("x2345", "(5, 3)", ("nearest", "nearest-exact", "bilinear", "bicubic", "area")),
            ("x12343", "(2, 5, 4)", ("nearest", "nearest-exact", "trilinear", "area")),
        )
        for mode in modes
        for align in ("", ", align_corners=True")[: 2 if mode[-6:] in ("linear", "icubic") else 1]
    ),
    "F.interpolate(x2345, scale_factor=2)",
    "F.interpolate(x2345, scale_factor=1.7, mode='bilinear')",
    "F.interpolate(x2345, scale_factor=(0.6, 1.5), mode='bicubic')",
    "F.interpolate(x2345, scale_factor=1.7, mode='bilinear', recompute_scale_factor=True)",
    "F.interpolate(x235, scale_factor=0.7)", "F.interpolate(x235, scale_factor=2.5, mode='linear')",
    "nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)(x2345)",
    "nn.UpsamplingNearest2d(scale_factor=2)(x1234)", "nn.UpsamplingBilinear2d(size=5)(x1234)",
    "F.pixel_shuffle(x1823, 2)", "F.pixel_unshuffle(x1246, 2)", "nn.PixelShuffle(2)(x423)",
    "nn.PixelUnshuffle(2)(x146)", "F.channel_shuffle(x1623, 3)", "nn.ChannelShuffle(2)(x144)",
    "F.unfold(x2345, (2, 3))", "F.unfold(x345, 2, padding=1, stride=2)",
    "F.unfold(x1255, 2, dilation=2, stride=(1, 2))", "nn.Unfold(2)(x1234)",
    "F.fold(x286, (3, 4), 2)",
    "F.fold(x86, (3, 4), 2)", "F.fold(x149, (4, 4), 2, padding=1, stride=2)",
    "nn.Fold((3, 4), 2)(x186)",
    f"F.embedding_bag({_BAG}, x53, torch.tensor([0, 3, 3, 5]))",
    f"F.embedding_bag({_BAG}, x53, torch.tensor([0, 3, 3, 5]), mode='sum')",
    f"F.embedding_bag({_BAG}, x53, torch.tensor([0, 3, 3, 5]), mode='max')",
    f"F.embedding_bag({_BAG}, x53, torch.tensor([0, 3, 7]), include_last_offset=True)",
    f"F.embedding_bag({_BAG}, x53, torch.tensor([0, 4]), mode='sum', per_sample_weights=y7)",
    f"F.embedding_bag({_BAG}, x53, torch.tensor([0, 4]), padding_idx=1)",
    f"F.embedding_bag({_BAG}, x53, torch.tensor([0, 4]), mode='max', padding_idx=0)",
    "F.embedding_bag(i34, x23)", "F.embedding_bag(i34, x23, mode='max')",
    "F.embedding_bag(i34, x23, mode='sum', per_sample_weights=y34)",
    "fixed(nn.EmbeddingBag(2, 3, mode='sum'))(i34)",
    "nn.EmbeddingBag.from_pretrained(k23)(i34)",
    "F.dropout1d(x234, training=False)", "nn.Dropout2d().eval()(x2345)",
    "nn.AlphaDropout(0.3).eval()(x34)", "F.alpha_dropout(x34)", "F.feature_alpha_dropout(x234)",
    "F.alpha_dropout(x34, 1., True) * 1", "F.dropout2d(x2345, 1., True)",
    "F.dropout1d(x234, 0., True)",
    "F.rrelu(x34)", "nn.RReLU(0.1, 0.2).eval()(x34)", "F.rrelu(x34, 0.25, 0.25, True)",
    "F.instance_norm(x234)", "F.instance_norm(x2345, None, None, y3, z3)",
    "nn.InstanceNorm1d(3)(x234)", "fixed(nn.InstanceNorm2d(3, affine=True))(x2345)",
    "nn.InstanceNorm1d(3).double()(x34)", "nn.InstanceNorm3d(2)(x12234)",
    "F.instance_norm(x234, k3, k3 + 1.5, use_input_stats=False)",
    "nn.InstanceNorm1d(3, track_running_stats=True).double().eval()(x234)",
    "[m := nn.InstanceNorm1d(3, track_running_stats=True).double(), m(x234), m(k234), "
    "m.running_mean, m.running_var][1:]",
    "F.local_response_norm(x2534, 3)", "nn.LocalResponseNorm(2, 0.1, 0.5, 2.)(x253)",
    "F.lp_pool1d(p238, 3, 2)", "F.lp_pool2d(p2376, 2, (3, 2), 1)", "nn.LPPool1d(2, 3, 2)(p238)",
    "nn.LPPool2d(1.5, 2, ceil_mode=True)(p1255)",
    "nn.ConstantPad1d(2, 1.5)(x23)", "nn.ConstantPad2d((1, 0, 2, 1), -1.)(x234)",
    "nn.ConstantPad3d(1, 0.5)(x2222)", "nn.CircularPad1d(2)(x234)",
    "nn.CircularPad2d((1, 2, 0, 1))(x2345)", "nn.CircularPad3d(1)(x12322)",
    "nn.ZeroPad3d(1)(x12222)", "nn.ReflectionPad3d(1)(x12333)", "nn.ReplicationPad3d(2)(x12222)",
    "F.multi_margin_loss(x34, torch.tensor([0, 3, 1]))",
    "F.multi_margin_loss(x34, torch.tensor([0, 3, 1]), 2, 0.5, k4 + 2, reduction='none')",
    "nn.MultiMarginLoss(reduction='sum')(x4, torch.tensor(2))",
    "F.multi_margin_loss(x4, torch.tensor(2), reduction='none')",
    "F.multilabel_margin_loss(x34, torch.tensor([[3, 0, -1, 1], [1, 2, 3, 0], [-1, 1, 1, 1]]))",
    "nn.MultiLabelMarginLoss(reduction='none')(x4, torch.tensor([3, 0, -1, 1]))",
    "nn.MultiLabelMarginLoss(reduction='sum')(x24, torch.tensor([[3, 0, -1, 1], [2, -1, 0, 0]]))",
    "F.multilabel_soft_margin_loss(x34, k34 + 1)",
    "nn.MultiLabelSoftMarginLoss(k4 + 2, reduction='none')(x34, k34 + 1)",
    "F.triplet_margin_with_distance_loss(x34, y34, z34)",
    "nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(-1), "
    "margin=2., swap=True, reduction='none')(x34, y34, z34)",
    "nn.Softmax2d()(x2345)", "nn.Softmax2d()(x345)",
    # packed sequences
    *(
        f"fixed(nn.{kind}(3, 4{options}))(nn.utils.rnn.pack_padded_sequence(x533, "
        f"torch.tensor({lengths}), enforce_sorted={order}))[0].data"
        for kind in ("RNN", "GRU", "LSTM")
        for options in ("", ", 2, bidirectional=True")
        for lengths, order in (("[5, 3, 2]", True), ("[2, 5, 3]", False))
    ),
    "fixed(nn.LSTM(3, 4, 2, bidirectional=True))(nn.utils.rnn.pack_padded_sequence(x533, "
    "torch.tensor([2, 5, 3]), enforce_sorted=False), (y434, z434))[1]",
    "fixed(nn.LSTM(3, 4, proj_size=2))(nn.utils.rnn.pack_padded_sequence(x533, "
    "torch.tensor([5, 3, 2])))[1]",
    "fixed(nn.GRU(3, 4, batch_first=True))(nn.utils.rnn.pack_padded_sequence(x353, "
    "torch.tensor([5, 3, 2]), True), y134)[1]",
    "nn.utils.rnn.pack_padded_sequence(x533, torch.tensor([5, 3, 2]))[:2]",
    "nn.utils.rnn.pack_padded_sequence(x353, torch.tensor([2, 5, 3]), True, False)",
    "nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_padded_sequence(x533, "
    "torch.tensor([2, 5, 3]), enforce_sorted=False))",
    "nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_padded_sequence(x353, "
    "torch.tensor([4, 3, 2]), True), True, -1.5, 6)",
    "nn.utils.rnn.pad_sequence([x23, y33, z13])", "nn.utils.rnn.pad_sequence([x2, y3], True, 2.)",
    "nn.utils.rnn.pad_sequence([x2, y3], True, 0., 'left')",
    "nn.utils.rnn.unpad_sequence(x533 * 1, torch.tensor([5, 3, 2]))",
    "nn.utils.rnn.pack_sequence([x33, y23, z13]).data",
    "nn.utils.rnn.unpack_sequence(nn.utils.rnn.pack_sequence([x23, y33], enforce_sorted=False))",
    "nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))",
]  # fmt: skip

TEXTS = [
    "nn.InstanceNorm1d(3)", "nn.InstanceNorm2d(3, affine=True, track_running_stats=True)",
    "nn.LocalResponseNorm(2)", "nn.ConstantPad1d(2, 3.5)", "nn.CircularPad2d(1)", "nn.ZeroPad3d(1)",
    "nn.LPPool1d(2, 3)", "nn.LPPool2d(2, (3, 2), stride=1)", "nn.MultiMarginLoss()",
    "nn.MultiLabelMarginLoss()", "nn.MultiLabelSoftMarginLoss()", "nn.Softmax2d()",
    "nn.ReflectionPad3d((1, 1, 1, 1, 0, 0))",
    "nn.Dropout1d()", "nn.Dropout2d(0.2, True)", "nn.Dropout3d()", "nn.AlphaDropout()",
    "nn.FeatureAlphaDropout(0.1)", "nn.RReLU()", "nn.RReLU(0.1, 0.2, True)",
    "nn.EmbeddingBag(5, 3)", "nn.EmbeddingBag(5, 3, max_norm=1., mode='sum', padding_idx=-1)",
    "nn.Conv3d(2, 4, 3)", "nn.Conv3d(2, 4, (1, 2, 3), 2, 1, bias=False)",
    "nn.ConvTranspose3d(2, 4, 3)",
    "nn.MaxPool3d(2)", "nn.AvgPool3d(2)", "nn.AdaptiveAvgPool3d(2)", "nn.AdaptiveMaxPool2d((1, 2))",
    "nn.MaxUnpool2d(2)", "nn.MaxUnpool1d(3, 2, 1)", "nn.Upsample(scale_factor=2)",
    "nn.Upsample((2, 3), mode='bilinear')", "nn.UpsamplingNearest2d(3)", "nn.PixelShuffle(2)",
    "nn.PixelUnshuffle(2)", "nn.ChannelShuffle(2)", "nn.Unfold(2)", "nn.Fold((3, 4), 2)",
    "nn.utils.rnn.pack_sequence([torch.ones(2), torch.ones(1)])",
]  # fmt: skip

ERRORS = [
    "nn.InstanceNorm1d(3)(k2345)", "F.instance_norm(k231)",
    "F.multi_margin_loss(k34, i3, 3)", "nn.Softmax2d()(k34)",
    "F.triplet_margin_with_distance_loss(k34, k34, k34, margin=-1.)",
    "nn.Dropout2d(2.)", "F.alpha_dropout(k34, -1.)", "F.conv3d(k34, k22222)",
    "F.conv3d(k12333, k31222)",
    "F.interpolate(k234)", "F.interpolate(k234, 2, 3.)",
    "F.interpolate(k234, 5, align_corners=True)",
    "F.interpolate(k234, (2, 3))", "F.interpolate(k234, scale_factor=(2., 3.))",
    "F.interpolate(k234, 3, recompute_scale_factor=True)",
    "F.pixel_shuffle(k323, 2)",
    "F.embedding_bag(i7, k53)", "F.embedding_bag(i34, k53, mode='x')",
    "F.embedding_bag(i34, k53, per_sample_weights=k34)",
    "F.embedding_bag(i234, k53)",
    "nn.EmbeddingBag(3, 2, padding_idx=5)",
    "nn.utils.rnn.pack_padded_sequence(k533, torch.tensor([2, 5, 3]))",
    "nn.utils.rnn.pack_padded_sequence(k533, torch.tensor([5, 3]))",
    "nn.utils.rnn.pack_padded_sequence(k533, torch.tensor([5, 3, 0]))",
    "nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence([k33]), total_length=2)",
    "F.adaptive_max_pool2d(k34, 2)",
]  # fmt: skip
