"""A published model with its weights, its element-wise, norm and softmax regions as fusions, beside eager PyTorch.

    pip install . torch transformers
    pip install --no-deps rxnfp==0.1.0      # MIT licence; 75 MB, the weights of three BERTs are in the wheel
    python examples/python/pretrained_model.py [--device cuda] [--layers 12]

rxnfp (Schwaller et al., "Mapping the space of chemical reactions using attention-based neural networks", 2021) is a
BERT of 12 layers over reactions written as text. What it makes of the first token is a fingerprint: reactions of one
kind are near each other. The model is the one that `transformers` builds; torch.compile gives its regions between the
matrix products to this compiler. Printed are how far both are apart, what was fused, and which reactions are near.
"""

import argparse
import importlib.util
import logging
import re
import time
from pathlib import Path

import torch
from nvfuser import dynamo
from transformers import BertConfig, BertModel

REACTIONS = {
    "ester from acid and ethanol": "CC(=O)O.OCC>>CC(=O)OCC",
    "ester from acid and propanol": "CCC(=O)O.OCCC>>CCC(=O)OCCC",
    "Suzuki coupling of phenyl": "Brc1ccccc1.OB(O)c1ccccc1>>c1ccc(cc1)-c1ccccc1",
    "Suzuki coupling of tolyl": "Brc1ccc(C)cc1.OB(O)c1ccccc1>>Cc1ccc(cc1)-c1ccccc1",
}
LIMIT = 2e-4  # of a fingerprint, whose elements are of the order of one


def weights():
    found = importlib.util.find_spec("rxnfp")
    if found is None:
        raise SystemExit("the weights are in a package: pip install --no-deps rxnfp==0.1.0")
    return Path(found.origin).parent / "models" / "transformers" / "bert_ft"


def load(folder, layers):
    """The encoder's first layers; attention written out, so that its softmax is a region."""
    config = BertConfig.from_pretrained(folder, attn_implementation="eager", num_hidden_layers=layers)
    return BertModel.from_pretrained(folder, config=config, add_pooling_layer=False).eval()


def tokens(folder, texts):
    """Numbers of the tokens, and which of them are there: [texts, longest]."""
    vocabulary = {word: i for i, word in enumerate((folder / "vocab.txt").read_text().split())}
    pattern = re.compile("|".join(re.escape(word) for word in sorted(vocabulary, key=len, reverse=True)))
    rows = [[vocabulary[w] for w in ("[CLS]", *pattern.findall(text), "[SEP]")] for text in texts]
    longest = max(map(len, rows))
    padded = [row + [vocabulary["[PAD]"]] * (longest - len(row)) for row in rows]
    there = [[1] * len(row) + [0] * (longest - len(row)) for row in rows]
    return torch.tensor(padded), torch.tensor(there)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--layers", default=12, type=int, help="of the model's 12")
    arguments = parser.parse_args()
    device = arguments.device
    logging.getLogger("transformers").setLevel(logging.ERROR)  # heads of the checkpoint that are not used here

    folder = weights()
    model = load(folder, arguments.layers).to(device)
    ids, there = (part.to(device) for part in tokens(folder, REACTIONS.values()))
    fused = torch.compile(model, backend="nvfuser", dynamic=True)

    def fingerprints(run, count):
        with torch.no_grad():
            some = {"input_ids": ids[:count].clone(), "attention_mask": there[:count].clone()}
            return run(**some).last_hidden_state[:, 0]

    worst = 0.0
    for count in (len(REACTIONS), 3, 2):  # the first call compiles
        begin = time.perf_counter()
        mine = fingerprints(fused, count)
        took = time.perf_counter() - begin
        worst = max(worst, (mine - fingerprints(model, count)).abs().max().item())
        print(f"{count} reactions of {ids.shape[1]} tokens: {took:.2f} s")
    print(f"largest difference of a fingerprint from eager PyTorch: {worst:.1e}")
    assert worst < LIMIT
    print("One of the layers:")
    with torch.no_grad():
        print(dynamo.explain(model.encoder.layer[0], model.embeddings(ids)))

    normal = torch.nn.functional.normalize(fingerprints(fused, len(REACTIONS)), dim=1)
    near = normal @ normal.T
    for i, name in enumerate(REACTIONS):
        near[i, i] = 0
        print(f"nearest to {name}: {list(REACTIONS)[near[i].argmax()]} ({near[i].max():.4f})")


if __name__ == "__main__":
    main()
