"""Networks that see: torchvision's, and some written as tutorials write them."""

from dataclasses import replace

import torch
import torchvision.models as tv
from torch import nn
from torch.nn import functional as F

from .case import Case, Taking, pictures


def classifier(name, **options):
    return lambda: getattr(tv, name)(num_classes=10, **options)


class UNet(nn.Module):
    """Two levels, transposed convolutions on the way up (Ronneberger and others, 2015)."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = self.block(3, 8), self.block(8, 16), self.block(16, 32)
        self.up_b, self.up_a = nn.ConvTranspose2d(32, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)
        self.back_b, self.back_a, self.last = self.block(32, 16), self.block(16, 8), nn.Conv2d(8, 4, 1)

    @staticmethod
    def block(taken, given):
        return nn.Sequential(nn.Conv2d(taken, given, 3, padding=1), nn.BatchNorm2d(given), nn.ReLU(),
                             nn.Conv2d(given, given, 3, padding=1), nn.BatchNorm2d(given), nn.ReLU())

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        c = self.c(F.max_pool2d(b, 2))
        b = self.back_b(torch.cat([self.up_b(c), b], 1))
        return self.last(self.back_a(torch.cat([self.up_a(b), a], 1)))


class Tutorial(nn.Module):
    """The network of PyTorch's own first tutorial on pictures."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 6, 5), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(16 * 5 * 5, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(torch.flatten(x, 1))))))


class Detector(nn.Module):
    """RetinaNet's heads over a feature pyramid, as one tensor: four numbers of a box and the scores of each anchor."""

    def __init__(self):
        super().__init__()
        whole = tv.detection.retinanet_resnet50_fpn(weights=None, weights_backbone=None, num_classes=5)
        self.head = whole.head
        self.lower = nn.ModuleList([nn.Conv2d(3, 256, 3, 4, 1), nn.Conv2d(256, 256, 3, 2, 1)])

    def forward(self, x):
        p3 = F.relu(self.lower[0](x))
        found = self.head([p3, F.relu(self.lower[1](p3))])
        return torch.cat([found["bbox_regression"], found["cls_logits"]], -1)


class Autoencoder(nn.Module):
    """Variational (Kingma and Welling, 2014), at its mean."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 16, 3, 2, 1),
                                    nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(784, 16))
        self.decode = nn.Sequential(nn.Linear(8, 784), nn.Unflatten(1, (16, 7, 7)), nn.Upsample(scale_factor=2),
                                    nn.Conv2d(16, 8, 3, padding=1), nn.LeakyReLU(0.2), nn.Upsample(scale_factor=2),
                                    nn.Conv2d(8, 1, 3, padding=1), nn.Sigmoid())

    def forward(self, x):
        mean, deviation = self.encode(x).chunk(2, 1)
        return self.decode(mean + 0 * deviation)


class Generator(nn.Module):
    """A DCGAN's generator (Radford and others, 2016)."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.ConvTranspose2d(16, 32, 4, 1, 0, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
            nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
            nn.ConvTranspose2d(16, 3, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, z):
        return self.layers(z)


class SuperResolution(nn.Module):
    """PyTorch's own example of an export: convolutions, then pixels from channels."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 64, 5, 1, 2), nn.ReLU(), nn.Conv2d(64, 64, 3, 1, 1), nn.ReLU(),
                                    nn.Conv2d(64, 32, 3, 1, 1), nn.ReLU(), nn.Conv2d(32, 9, 3, 1, 1),
                                    nn.PixelShuffle(3))

    def forward(self, x):
        return self.layers(x)


def segmenter(name):
    return lambda: Taking(getattr(tv.segmentation, name)(weights=None, weights_backbone=None, num_classes=4),
                          lambda given: given["out"])


def swin():
    return tv.SwinTransformer([4, 4], 24, [2, 2], [2, 4], [4, 4], stochastic_depth_prob=0.0, num_classes=10)


steady = {"optimizer": "sgd"}
scores = {"loss": "cross-entropy", **steady}
resnet18 = Case(classifier("resnet18"), pictures(3, 64), **scores)
mobilenet_v2 = Case(classifier("mobilenet_v2", dropout=0.0), pictures(3, 64), **scores)
mobilenet_v3 = Case(classifier("mobilenet_v3_small", dropout=0.0), pictures(3, 64), **scores)
vit = Case(lambda: tv.VisionTransformer(32, 8, 2, 4, 64, 128, num_classes=10), pictures(3, 32), **scores)
unet = Case(UNet, pictures(3, 32), **scores, axis=1)
tutorial = Case(Tutorial, pictures(3, 32), **scores)

MODELS = {
    "Tutorial CNN": tutorial,
    "Tutorial CNN, script": tutorial.scripted(),
    "ResNet-18": resnet18,
    "ResNet-18, script": resnet18.scripted(),
    "ResNet-18, script, training mode": resnet18.scripted(training=True),
    "ResNet-18, optimize=False": resnet18.plain(),
    "ResNet-18, training mode, optimize=False": replace(resnet18.plain(), training=True),
    "ResNet-50": Case(classifier("resnet50"), pictures(3, 64), **scores),
    "ResNeXt-50": Case(classifier("resnext50_32x4d"), pictures(3, 64), **scores),
    "MobileNetV2": mobilenet_v2,
    "MobileNetV2, script": mobilenet_v2.scripted(),
    "MobileNetV3 small": mobilenet_v3,
    "MobileNetV3 small, script": mobilenet_v3.scripted(),
    "EfficientNet-B0": Case(classifier("efficientnet_b0", dropout=0.0, stochastic_depth_prob=0.0), pictures(3, 64),
                            **scores),
    "EfficientNetV2-S": Case(classifier("efficientnet_v2_s", dropout=0.0, stochastic_depth_prob=0.0), pictures(3, 64),
                             **scores),
    "ConvNeXt tiny": Case(classifier("convnext_tiny", stochastic_depth_prob=0.0), pictures(3, 64), **scores),
    "ViT": vit,
    "ViT, optimize=False": vit.plain(),
    "ViT, script": vit.scripted(),
    "Swin tiny": Case(swin, pictures(3, 64), **scores),
    "DenseNet-121": Case(classifier("densenet121"), pictures(3, 64), **scores),
    "SqueezeNet 1.1": Case(classifier("squeezenet1_1", dropout=0.0), pictures(3, 64), **scores),
    "ShuffleNetV2": Case(classifier("shufflenet_v2_x0_5"), pictures(3, 64), **scores),
    "MNASNet": Case(classifier("mnasnet0_5", dropout=0.0), pictures(3, 64), **scores),
    "RegNet": Case(classifier("regnet_y_400mf"), pictures(3, 64), **scores),
    "GoogLeNet": Case(classifier("googlenet", aux_logits=False, init_weights=False, dropout=0.0), pictures(3, 64),
                      **scores),
    "AlexNet": Case(classifier("alexnet", dropout=0.0), pictures(3, 96), **scores),
    "VGG-11": Case(classifier("vgg11", dropout=0.0), pictures(3, 32), **scores),
    "U-Net": unet,
    "U-Net, script": unet.scripted(),
    "DeepLabV3": Case(segmenter("deeplabv3_mobilenet_v3_large"), pictures(3, 64), **scores, axis=1),
    "FCN": Case(segmenter("fcn_resnet50"), pictures(3, 32), **scores, axis=1),
    "RetinaNet's head": Case(Detector, pictures(3, 64), **steady),
    "VAE of pictures": Case(Autoencoder, pictures(1, 28), **steady),
    "DCGAN's generator": Case(Generator, lambda batch: (torch.randn(batch, 16, 1, 1),), **steady),
    "Super-resolution": Case(SuperResolution, pictures(1, 24), **steady),
}

# With random weights, BatchNorms folded into many layers leave steps that no two programs take alike.
MODELS |= {f"{name}, optimize=False": MODELS[name].plain() for name in (
    "ResNet-50", "ResNeXt-50", "MobileNetV2", "EfficientNetV2-S", "DenseNet-121", "RegNet", "GoogLeNet", "FCN")}
