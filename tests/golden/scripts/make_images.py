# Pictures as torchvision makes them tensors: Resize (Pillow's antialiased bilinear), CenterCrop, ToTensor, Normalize.
#   python3 make_images.py      (Debian's python3-pil and python3-torchvision; written with 9.4 and 0.14.1)
import hashlib
import json

import numpy
import torch
from PIL import Image
from torchvision import transforms

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def picture(width, height):
    """The formula of tests/js/media/image.test.js."""
    bytes_ = [(x * 7 + y * 13 + c * 50 + x * y * (c + 1)) % 256 for y in range(height) for x in range(width)
              for c in range(3)]
    return Image.fromarray(numpy.array(bytes_, dtype=numpy.uint8).reshape(height, width, 3))


def pixels(image):
    return numpy.asarray(image).tobytes()


def resized(width, height, size, crop, grey=False):
    image = picture(width, height)
    if grey:
        image = image.convert("L")
    steps = [transforms.Resize(size), transforms.CenterCrop(size)] if crop else [transforms.Resize((size, size)
        if isinstance(size, int) else size)]
    done = pixels(transforms.Compose(steps)(image))
    return {"width": width, "height": height, "size": size, "crop": "center" if crop else False,
            "channels": 1 if grey else 3,
            "first": list(done[:12]), "sha256": hashlib.sha256(done).hexdigest()}


def normalized():
    to = transforms.Compose([transforms.Resize(5), transforms.CenterCrop(5), transforms.ToTensor(),
                             transforms.Normalize(MEAN, STD)])
    return [float(v) for v in to(picture(11, 8)).flatten()]


CASES = [(31, 17, 8, True), (17, 31, 8, True), (640, 480, 224, True), (480, 641, 96, True), (9, 9, 9, True),
         (5, 7, 16, True),
         (33, 20, 7, False), (33, 20, [6, 11], False), (4, 3, [9, 5], False), (100, 1, 3, False), (1, 1, 4, True)]
cases = [resized(*case) for case in CASES] + [resized(31, 17, 8, True, True), resized(33, 20, [6, 11], False, True)]
with open("../data/samples/images.json", "w") as file:
    json.dump({"cases": cases, "normalized": normalized(), "mean": MEAN, "std": STD}, file, indent=1)
