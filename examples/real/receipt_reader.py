"""The text of a receipt: the trained networks of the package rapidocr-onnxruntime find lines, turn them and read them."""

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from rapidocr_onnxruntime import RapidOCR

import ridgeline

LINES = [
    "CORNER BAKERY",
    "Rye bread 1 kg       4.20",
    "Butter croissant     1.80",
    "Espresso             2.10",
    "Apple cake, slice    3.40",
    "TOTAL               11.50",
]
engine = RapidOCR()


def draw() -> np.ndarray:
    """The receipt as a camera would deliver it: 480 by 400, blue green red."""
    image = Image.new("RGB", (480, 400), (244, 241, 232))
    pen = ImageDraw.Draw(image)
    for index, line in enumerate(LINES):
        pen.text((28, 30 + 58 * index), line, fill=(30, 28, 40), font=ImageFont.load_default(26))
    return np.asarray(image)[:, :, ::-1].copy()


photo = draw()


def read() -> list[str]:
    """The lines of text, from top to bottom."""
    with ridgeline.stage("find lines"):
        boxes, _ = engine.auto_text_det(photo)
    with ridgeline.stage("cut out"):
        strips = engine.get_crop_img_list(photo, boxes)
    with ridgeline.stage("turn upright"):
        strips, _, _ = engine.text_cls(strips)
    with ridgeline.stage("read"):
        found, _ = engine.text_rec(strips)
    return [text for text, _ in found]
