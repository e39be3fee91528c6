"""How the operators of ONNX are read, by subject; importing the room registers them."""

from staticgraph.onnx.operators import (
    attention as attention,
    axes as axes,
    control as control,
    elements as elements,
    moves as moves,
    networks as networks,
    quantized as quantized,
    recurrent as recurrent,
    resizing as resizing,
    sampling as sampling,
    signals as signals,
    windows as windows,
)
