"""More networks that see: timm's and torchvision's, each by the exporter's defaults, the README's options and
script."""

import timm
import torch
import torchvision.models as tv

from .case import Case, pictures, each_way
from .vision import classifier

SIZE, BATCH = 64, 4


def timms(name, size=SIZE, **options):
    """Of timm, with ten classes; SGD, as the networks have many layers and random weights."""
    return Case(lambda: timm.create_model(name, num_classes=10, **options), pictures(3, size), loss="cross-entropy",
                optimizer="sgd", batch=BATCH)


def torchvisions(name, size=SIZE, **options):
    return Case(classifier(name, **options), pictures(3, size), loss="cross-entropy", optimizer="sgd", batch=BATCH)


small = {"img_size": SIZE, "patch_size": 8, "embed_dim": 32}
CASES = {
    "ResMLP": timms("resmlp_12_224", img_size=SIZE),
    "MLP-Mixer": timms("mixer_s32_224", img_size=SIZE),
    "gMLP": timms("gmlp_ti16_224", img_size=SIZE),
    "DeiT, distilled": timms("deit_tiny_distilled_patch16_224", **small, depth=2, num_heads=2),
    "CaiT": timms("cait_xxs24_224", **small, depth=2, num_heads=2),
    "BEiT": timms("beit_base_patch16_224", **small, depth=2, num_heads=2),
    "EVA-02": timms("eva02_tiny_patch14_224", **small, depth=2, num_heads=2),
    "PiT": timms("pit_ti_224", img_size=SIZE),
    "XCiT": timms("xcit_nano_12_p16_224", img_size=SIZE, depth=2),
    "LeViT": timms("levit_128s", img_size=SIZE),
    "Twins-SVT": timms("twins_svt_small", img_size=SIZE, depths=(1, 1, 1, 1), embed_dims=(16, 32, 64, 64),
                       num_heads=(2, 2, 4, 4)),
    "Sequencer": timms("sequencer2d_s", img_size=SIZE, layers=(1, 1, 1, 1)),
    "PoolFormer": timms("poolformer_s12"),
    "CoAtNet": timms("coatnet_nano_cc_224", img_size=SIZE),
    "MaxViT": timms("maxvit_pico_rw_256", img_size=SIZE),
    "EfficientFormer": timms("efficientformer_l1", size=224),
    "EdgeNeXt": timms("edgenext_xx_small"),
    "MobileViT": timms("mobilevit_xxs"),
    "MobileViTv2": timms("mobilevitv2_050"),
    "GhostNet": timms("ghostnet_050", drop_rate=0.0),
    "RepVGG": timms("repvgg_a0"),
    "LCNet": timms("lcnet_035"),
    "TinyNet": timms("tinynet_e"),
    "ResNeSt": timms("resnest14d"),
    "Res2Net": timms("res2net50_14w_8s"),
    "SKNet": timms("skresnet18"),
    "SE-ResNet": timms("seresnet18"),
    "DLA": timms("dla34"),
    "HRNet": timms("hrnet_w18_small"),
    "NFNet": timms("nf_resnet26"),
    "FastViT": timms("fastvit_t8"),
    "HGNetV2": timms("hgnetv2_b0"),
    "MobileOne": timms("mobileone_s0"),
    "MobileNetV4": timms("mobilenetv4_conv_small"),
    "MambaOut": timms("mambaout_femto", depths=(1, 1, 1, 1), dims=(16, 32, 48, 64)),
    "StarNet": timms("starnet_s1"),
    "DaViT": timms("davit_tiny", depths=(1, 1, 1, 1), embed_dims=(16, 32, 64, 64), num_heads=(1, 2, 4, 4)),
    "ConViT": timms("convit_tiny", img_size=SIZE, patch_size=8, embed_dim=32, depth=3, num_heads=2,
                    local_up_to_layer=2),
    "FocalNet": timms("focalnet_tiny_srf", drop_path_rate=0.0),
    "ConvNeXt V2": timms("convnextv2_atto", depths=(1, 1, 1, 1), dims=(16, 32, 48, 64)),
    "RDNet": timms("rdnet_tiny"),
    "SwiftFormer": timms("swiftformer_xs"),
    "PVT v2": timms("pvt_v2_b0"),
    "Swin v2": Case(lambda: tv.SwinTransformer([4, 4], 24, [2, 2], [2, 4], [4, 4], stochastic_depth_prob=0.0,
                                               num_classes=10, block=tv.swin_transformer.SwinTransformerBlockV2,
                                               downsample_layer=tv.swin_transformer.PatchMergingV2),
                    pictures(3, SIZE), loss="cross-entropy", optimizer="sgd", batch=BATCH),
    "Inception v3": torchvisions("inception_v3", size=96, aux_logits=False, init_weights=False, dropout=0.0),
    "MobileNetV3 large": torchvisions("mobilenet_v3_large", dropout=0.0),
}
MODELS = each_way(CASES, ["EVA-02"])  # is_causal as a tensor, which it does not write
