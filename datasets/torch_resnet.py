"""ResNet-50 by He et al. (2015), with the stride of a block in its 3 × 3 convolution, and the loss of classification."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

BLOCKS = (3, 4, 6, 3)
WIDTHS = (64, 128, 256, 512)
EXPANSION = 4
CLASSES = 1000
PIXELS = 224


class Block(nn.Module):
    """Three convolutions, 1 × 1, 3 × 3 and 1 × 1, with a residual connection."""

    def __init__(self, given: int, width: int, stride: int) -> None:
        super().__init__()
        made = EXPANSION * width
        self.conv1 = nn.Conv2d(given, width, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, made, 1, bias=False)
        self.norm3 = nn.BatchNorm2d(made)
        self.shortcut = None
        if stride > 1 or given != made:
            self.shortcut = nn.Sequential(nn.Conv2d(given, made, 1, stride, bias=False), nn.BatchNorm2d(made))

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.norm1(self.conv1(x)))
        y = torch.relu(self.norm2(self.conv2(y)))
        return torch.relu(self.norm3(self.conv3(y)) + (x if self.shortcut is None else self.shortcut(x)))


def stage(given: int, width: int, blocks: int, stride: int) -> nn.Sequential:
    """Blocks of one width; the first one reduces the image."""
    rest = (Block(EXPANSION * width, width, 1) for _ in range(blocks - 1))
    return nn.Sequential(Block(given, width, stride), *rest)


class Resnet50(nn.Module):
    """Loss of one step of training."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, WIDTHS[0], 7, 2, 3, bias=False)
        self.norm = nn.BatchNorm2d(WIDTHS[0])
        self.pool = nn.MaxPool2d(3, 2, 1)
        given = (WIDTHS[0], *(EXPANSION * width for width in WIDTHS[:-1]))
        strides = (1, 2, 2, 2)
        self.stages = nn.ModuleList(map(stage, given, WIDTHS, BLOCKS, strides))
        self.classes = nn.Linear(EXPANSION * WIDTHS[-1], CLASSES)

    def forward(self, images: Tensor, labels: Tensor) -> Tensor:
        x = self.pool(torch.relu(self.norm(self.conv(images))))
        for blocks in self.stages:
            x = blocks(x)
        return F.cross_entropy(self.classes(F.adaptive_avg_pool2d(x, 1).flatten(1)), labels)


def model() -> Resnet50:
    """ResNet-50 with random weights."""
    return Resnet50()


def batch(images: int, pixels: int = PIXELS) -> tuple[Tensor, Tensor]:
    """Random images and labels."""
    return torch.randn(images, 3, pixels, pixels), torch.randint(CLASSES, (images,))
