"""attnlib: scaled dot-product attention in numpy, small enough to read in one sitting."""

from attnlib.attention import attention
from attnlib.gradients import attention_vjp, softmax_jacobian, softmax_vjp
from attnlib.heads import Head, Read, list_heads, list_sentences, load_head, load_reference

from attnlib.heads import load_states, load_statistics  # isort: skip
from attnlib.scores import project, score_table
from attnlib.softmax import softmax
from attnlib.streaming import streaming_attention

__version__ = "0.1.0"

__all__ = ["Head", "Read", "attention", "attention_vjp", "list_heads", "list_sentences"]
__all__ += ["load_head", "load_reference", "load_states", "load_statistics", "project"]
__all__ += ["score_table", "softmax", "softmax_jacobian", "softmax_vjp", "streaming_attention"]
