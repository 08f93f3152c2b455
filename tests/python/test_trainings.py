"""Four transformers, small and of random weights, learn as in eager: with dropout, checkpointed activations and
autocast, 20 steps give losses that are as near to those in double precision as eager's are. With
NVFUSER_TEST_CONTRACT=all without autocast, too."""

import os

import pytest
import torch
import transformers
from compile_support import compiled, failures
from nvfuser.dynamo.backend import observing
from tested_device import DEVICE, tensors_there

STEPS = 20
WIDTH, HEADS, WORDS, LENGTH, ROWS = 32, 2, 61, 11, 3


def gpt2():
    sizes = {"n_embd": WIDTH, "n_layer": 1, "n_head": HEADS, "vocab_size": WORDS, "n_positions": LENGTH}
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, attn_implementation="eager")), of_words


def llama():
    sizes = {"hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": HEADS, "vocab_size": WORDS}
    rest = {"intermediate_size": 2 * WIDTH, "attention_dropout": 0.1, "attn_implementation": "eager"}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, **rest)), of_words


def t5():
    sizes = {"d_model": WIDTH, "d_kv": WIDTH // HEADS, "d_ff": 2 * WIDTH, "num_layers": 1, "num_heads": HEADS}
    rest = {"vocab_size": WORDS, "decoder_start_token_id": 0, "dropout_rate": 0.1}
    return transformers.T5ForConditionalGeneration(transformers.T5Config(**sizes, **rest)), of_words


def vit():
    sizes = {"hidden_size": WIDTH, "num_hidden_layers": 1, "num_attention_heads": HEADS, "intermediate_size": 2 * WIDTH}
    rest = {"image_size": 12, "patch_size": 4, "num_labels": 7, "hidden_dropout_prob": 0.1}
    config = transformers.ViTConfig(**sizes, **rest, attention_probs_dropout_prob=0.1, attn_implementation="eager")
    return transformers.ViTForImageClassification(config), of_images


def of_words(dtype):
    words = torch.randint(1, WORDS, (ROWS, LENGTH))
    return {"input_ids": words, "labels": words}


def of_images(dtype):
    return {"pixel_values": torch.randn(ROWS, 3, 12, 12).to(dtype), "labels": torch.randint(0, 7, (ROWS,))}


MODELS = {"gpt2": gpt2, "llama": llama, "t5": t5, "vit": vit}


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    with tensors_there():
        yield
    torch._dynamo.reset()


def losses(name, dtype, autocast, compile_):
    torch.manual_seed(0)
    model, batch_of = MODELS[name]()
    model = model.to(DEVICE, dtype).train()
    model.gradient_checkpointing_enable({"use_reentrant": False})
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    batch = batch_of(dtype)
    call = compile_(lambda **given: model(**given).loss)
    found = []
    for step in range(STEPS):
        torch.manual_seed(step)
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=autocast):
            loss = call(**batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return torch.tensor(found, dtype=torch.float64)


WAYS = {"autocast": True, "float": False} if os.environ.get("NVFUSER_TEST_CONTRACT") == "all" else {"autocast": True}


@pytest.mark.parametrize("autocast", WAYS.values(), ids=WAYS.keys())
@pytest.mark.parametrize("name", MODELS)
def test_training_follows_eager(name, autocast):
    exact = losses(name, torch.float64, False, lambda call: call)
    assert exact[-1] < exact[0] - 0.5
    eager = losses(name, torch.float32, autocast, lambda call: call)
    with observing() as seen:
        ours = losses(name, torch.float32, autocast, compiled)
    assert seen.graphs and not failures(seen.graphs)
    noise, error = ((found - exact).abs().max().item() for found in (eager, ours))
    assert error <= 4 * noise + 4e-6, f"off by {error}, where eager is by {noise}"
