"""WebSocket frames that are encoded once for many sockets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

from threedice.api.live.messages import EncodedMessage


def parse_frame(data: bytes) -> Frame:
    """Parse a frame as a client does."""
    reader = StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    parsing = Frame.parse(reader.read_exact, mask=False)
    try:
        while True:
            next(parsing)
    except StopIteration as end:
        frame: Frame = end.value
        return frame


@given(st.text())
def test_message_is_encoded_as_one_final_text_frame(text: str) -> None:
    frame = parse_frame(EncodedMessage(text).frame)
    assert (frame.opcode, frame.fin) == (Opcode.TEXT, True)
    assert bytes(frame.data).decode() == text


def test_frame_of_a_message_is_encoded_once() -> None:
    message = EncodedMessage("hello")
    assert message.frame is message.frame
