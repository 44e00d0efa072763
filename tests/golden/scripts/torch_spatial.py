"""What PyTorch says of operators that sample pictures and transform signals; torch_ops.py lists them."""
import itertools
import math

import torch
from torch.nn import functional as F


def numbers(t):
    return [int(v) for v in t.reshape(-1)]


def grid_sample(x, a):
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(a.get("mode", "linear"), a.get("mode", "linear"))
    if x[0].dim() == 5 and mode == "bicubic":
        return [None]
    return [F.grid_sample(x[0], x[1], mode, a.get("padding_mode", "zeros"), bool(a.get("align_corners", 0)))]


def roi_align(x, a, opset):
    """Through grid_sample: a sample at most one pixel off the picture counts as on its edge, others as 0."""
    half = a.get("coordinate_transformation_mode", "half_pixel" if not opset or opset >= 16
                 else "output_half_pixel") == "half_pixel"
    size, shift = [a.get("output_height", 1), a.get("output_width", 1)], 0.5 if half else 0.0
    if a.get("mode") == "max":
        return [None]
    picture, parts = x[0], []
    for roi, batch in zip(x[1], numbers(x[2])):
        lines = []
        for d in range(2):
            start, end = (float(roi[1 - d + 2 * k]) * a.get("spatial_scale", 1.0) - shift for k in range(2))
            length = end - start if half else max(end - start, 1.0)
            per = a.get("sampling_ratio", 0) or math.ceil(length / size[d])
            lines.append(start + (torch.arange(size[d] * per, dtype=torch.float64) + 0.5) * length / size[d] / per)
        y, z = torch.meshgrid(*lines, indexing="ij")
        h, w = picture.shape[2:]
        seen = ((y >= -1) & (y <= h) & (z >= -1) & (z <= w)).double()
        grid = torch.stack([2 * z / max(w - 1, 1) - 1, 2 * y / max(h - 1, 1) - 1], -1)[None]
        sampled = F.grid_sample(picture[batch:batch + 1], grid, "bilinear", "border", True) * seen
        parts.append(F.adaptive_avg_pool2d(sampled, size))
    return [torch.cat(parts)]


def max_roi_pool(x, a):
    size, scale, parts = a["pooled_shape"], a.get("spatial_scale", 1.0), []
    for roi in x[1]:
        picture = x[0][int(roi[0])]
        starts = [int(math.floor(float(roi[2 - d]) * scale + 0.5)) for d in range(2)]
        ends = [int(math.floor(float(roi[4 - d]) * scale + 0.5)) for d in range(2)]
        each = [max(e - s + 1, 1) / n for s, e, n in zip(starts, ends, size)]
        y = torch.zeros([picture.shape[0], *size], dtype=x[0].dtype)
        for bins in itertools.product(*map(range, size)):
            low = [min(max(math.floor(b * e) + s, 0), n) for b, e, s, n in zip(bins, each, starts, picture.shape[1:])]
            high = [min(max(math.ceil((b + 1) * e) + s, 0), n) for b, e, s, n in zip(bins, each, starts,
                picture.shape[1:])]
            part = picture[:, low[0]:high[0], low[1]:high[1]]
            if part.numel():
                y[:, bins[0], bins[1]] = part.amax((1, 2))
        parts.append(y)
    return [torch.stack(parts)]


def dft(x, a, opset):
    rank = x[0].dim()
    axis = (int(x[2]) if len(x) > 2 else -2) if not opset or opset >= 20 else a.get("axis", 1)
    axis, n = axis % rank, int(x[1]) if len(x) > 1 and x[1] is not None else None
    x = torch.view_as_complex(x[0].contiguous()) if x[0].shape[-1] == 2 else x[0][..., 0]
    if a.get("onesided") and a.get("inverse"):
        return [torch.fft.irfft(x, n, axis)[..., None]]
    f = torch.fft.rfft if a.get("onesided") else torch.fft.ifft if a.get("inverse") else torch.fft.fft
    return [torch.view_as_real(f(x, n, axis))]


def stft(x, a):
    signal, step, window = x[0], int(x[1]), x[2] if len(x) > 2 else None
    length = int(x[3]) if len(x) > 3 else window.numel()
    whole = signal.dim() == 3 and signal.shape[2] == 2
    signal = torch.view_as_complex(signal.contiguous()) if whole else signal.reshape(signal.shape[:2])
    window = torch.ones(length, dtype=torch.float64) if window is None else window
    y = torch.stft(signal, length, step, window=window, center=False,
                   onesided=not whole and bool(a.get("onesided", 1)), return_complex=True)
    return [torch.view_as_real(y.transpose(1, 2))]


def col2im(x, a):
    n = x[1].numel()
    pads = a.get("pads", [0] * (2 * n))
    if n != 2 or pads[:n] != pads[n:]:
        return fold_all(x[0], numbers(x[1]), numbers(x[2]), a, pads)
    return [F.fold(x[0], numbers(x[1]), numbers(x[2]), a.get("dilations", 1), pads[:n], a.get("strides", 1))]


def fold_all(x, image, block, a, pads):
    """The transposed convolution whose kernels are the cells one by one."""
    n, cells = len(image), math.prod(block)
    channels = x.shape[1] // cells
    sizes = [i + pads[d] + pads[d + n] for d, i in enumerate(image)]
    stride, dilation = a.get("strides", [1] * n), a.get("dilations", [1] * n)
    out = [(s - dilation[d] * (block[d] - 1) - 1) // stride[d] + 1 for d, s in enumerate(sizes)]
    kernel = torch.eye(cells, dtype=x.dtype).reshape([cells, 1, *block]).repeat([channels, 1] + [1] * n)
    f = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][n - 1]
    y = f(x.reshape([x.shape[0], x.shape[1], *out]), kernel, stride=stride, dilation=dilation, groups=channels)
    y = F.pad(y, [v for d in reversed(range(n)) for v in (0, sizes[d] - y.shape[2 + d])])
    for d in range(n):
        y = y.narrow(2 + d, pads[d], image[d])
    return [y]


def deform_conv(x, a):
    picture, w, offset = x[:3]
    bias, mask = (x[i] if len(x) > i else None for i in (3, 4))
    n, r = picture.shape[0], picture.dim() - 2
    if r != 2:
        return [None]
    groups, stride, dilation, pads = a.get("offset_group", 1), a.get("strides", [1] * r), a.get("dilations",
        [1] * r), a.get("pads", [0] * 2 * r)
    kernel, out = list(w.shape[2:]), list(offset.shape[2:])
    offset = offset.reshape([n, groups, *kernel, r, *out])
    mask = torch.ones([n, groups, *kernel, *out], dtype=w.dtype) if mask is None else mask.reshape([n, groups, *kernel,
        *out])
    columns = torch.zeros([n, picture.shape[1], *kernel, *out], dtype=w.dtype)
    for g, i, j in itertools.product(range(groups), *map(range, kernel)):
        place = [(torch.arange(out[d]) * stride[d] - pads[d] + (i, j)[d] * dilation[d]).reshape([-1, 1] if d == 0
            else [1, -1]) + offset[:, g, i, j, d] for d in range(2)]
        h, wide = picture.shape[2:]
        grid = torch.stack([(2 * place[1] + 1) / wide - 1, (2 * place[0] + 1) / h - 1], -1)
        part = slice(g * picture.shape[1] // groups, (g + 1) * picture.shape[1] // groups)
        columns[:, part, i, j] = F.grid_sample(picture[:, part], grid, "bilinear", "zeros", False) * mask[:, g, i, j,
            None]
    parts = a.get("group", 1)
    y = torch.einsum("gmc,ngcp->ngmp", w.reshape(parts, w.shape[0] // parts, -1),
                     columns.reshape(n, parts, -1, math.prod(out)))
    y = y.reshape([n, -1, *out])
    return [y if bias is None else y + bias.reshape(1, -1, 1, 1)]


def affine_grid(x, a):
    return [F.affine_grid(x[0], numbers(x[1]), bool(a.get("align_corners", 0)))]


def center_crop_pad(x, a):
    y = x[0]
    for axis, size in zip(a.get("axes", range(y.dim())), numbers(x[1])):
        more = size - y.shape[axis]
        if more < 0:
            y = y.narrow(axis, -more // 2, size)
        else:
            ends = [0] * (2 * y.dim())
            at = 2 * (y.dim() - 1 - axis % y.dim())
            ends[at], ends[at + 1] = more // 2, more - more // 2
            y = F.pad(y, ends)
    return [y]


def unique(x, a):
    if not a.get("sorted", 1):
        return [None]
    y, inverse, counts = torch.unique(x[0], True, True, True, dim=a.get("axis"))
    return [y, None, inverse.reshape(-1), counts]


def det(x, a):
    return [torch.linalg.det(x[0])]


def inverse(x, a):
    return [torch.linalg.inv(x[0])]


SPATIAL = {"GridSample": grid_sample, "RoiAlign": roi_align, "MaxRoiPool": max_roi_pool, "DFT": dft, "STFT": stft,
           "Col2Im": col2im,
           "DeformConv": deform_conv, "AffineGrid": affine_grid, "CenterCropPad": center_crop_pad, "Unique": unique,
           "Det": det,
           "Inverse": inverse}
