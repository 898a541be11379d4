"""Read a QR code off a screen, as a telephone does with its camera."""

from __future__ import annotations

import base64
import json
import subprocess
from typing import TYPE_CHECKING

from screens import build

if TYPE_CHECKING:
    from playwright.sync_api import Locator

PIXELS = """async (_, png) => {
  const bytes = Uint8Array.from(atob(png), (each) => each.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes]));
  const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
  canvas.drawImage(image, 0, 0);
  const { width, height, data } = canvas.getImageData(0, 0, image.width, image.height);
  return { width, height, data: [...data] };
}"""
DECODE = """
import decodeQR from "qr/decode.js";
import { readFileSync } from "node:fs";
const { width, height, data } = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(decodeQR({ width, height, data: Uint8Array.from(data) }));
"""


def read_qr(picture: Locator) -> str:
    """Take a screenshot of a code and return its text."""
    png = base64.b64encode(picture.screenshot()).decode()
    decoded = subprocess.run(
        [build.node(), "--input-type=module", "-e", DECODE],
        cwd=build.SOURCES,
        input=json.dumps(picture.evaluate(PIXELS, png)),
        capture_output=True,
        text=True,
        check=True,
    )
    return decoded.stdout
