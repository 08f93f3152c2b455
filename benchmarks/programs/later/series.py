"""Prices and returns, survival, resamples, sound."""

import math

import torch
import torch.nn.functional as F

from ..program import Table, integers, normal, uniform

TABLE = Table("later series", tolerance=1e-4)
add, both = TABLE.add, TABLE.both


def asian_option(noise, spot, volatility, rate):
    dt = 1 / noise.shape[1]
    noise = torch.cat([noise, -noise])
    path = ((rate - volatility**2 / 2) * dt + volatility * dt**0.5 * noise).cumsum(1)
    price = spot * path.exp()
    arithmetic = F.relu(price.mean(1) - 100)
    geometric = F.relu(spot * path.mean(1).exp() - 100)
    knocked = price.amax(1) > 140
    payoff = torch.where(knocked, torch.zeros_like(arithmetic), arithmetic - 0.5 * geometric)
    payoff = torch.exp(-rate) * payoff
    return payoff.mean(), payoff.std() / len(payoff) ** 0.5


both(
    "Asian option by simulation",
    asian_option,
    lambda n, t: [normal(n, t), torch.tensor(100.0), torch.tensor(0.2), torch.tensor(0.03)],
    (32, 8),
    (1000, 24),
    (40000, 24),
)


def _cumulative(x):
    return 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def _call_price(spot, strike, years, rate, volatility):
    width = volatility * years.sqrt()
    d1 = (torch.log(spot / strike) + (rate + volatility**2 / 2) * years) / width
    price = spot * _cumulative(d1) - strike * torch.exp(-rate * years) * _cumulative(d1 - width)
    return price, spot * torch.exp(-(d1**2) / 2) / math.sqrt(2 * math.pi) * years.sqrt()


def implied_volatility(price, spot, strike, years, rate):
    volatility = torch.full_like(price, 0.3)
    for _ in range(4):
        value, vega = _call_price(spot, strike, years, rate, volatility)
        volatility = (volatility - (value - price) / vega.clamp(min=1e-4)).clamp(0.01, 3.0)
    return volatility


def _quotes(n):
    spot, strike, years, rate = (
        x.double() for x in (90 + 20 * uniform(n), 90 + 20 * uniform(n), 0.5 + uniform(n), 0.05 * uniform(n))
    )
    price, _ = _call_price(spot, strike, years, rate, 0.1 + 0.4 * uniform(n).double())
    return [price, spot, strike, years, rate]


add("implied volatility in float64", implied_volatility, _quotes, (32,), (2000,), (80000,))


def shrunk_portfolio(returns):
    t, n = returns.shape
    x = returns - returns.mean(0)
    sample = x.T @ x / t
    level = sample.diagonal().mean()
    target = level * torch.eye(n, dtype=x.dtype, device=x.device)
    distance = (sample - target).square().sum()
    noise = ((x * x).T @ (x * x) / t - sample * sample).sum() / t
    shrink = (noise / distance).clamp(0, 1)
    covariance = shrink * target + (1 - shrink) * sample
    weights = x.new_full((n,), 1 / n)
    places = torch.arange(1, n + 1, device=x.device)
    for _ in range(3):
        weights = weights - 0.1 * covariance @ weights / level
        ordered = weights.sort(descending=True).values
        over = (ordered.cumsum(0) - 1) / places
        count = (ordered > over).sum()
        weights = (weights - over.gather(0, (count - 1)[None])).clamp(min=0)
    return weights, weights @ covariance @ weights


add("shrunk covariance, weights", shrunk_portfolio, lambda t, n: [normal(t, n)], (21, 6), (250, 60), (1500, 700))


def drawdowns(returns):
    wealth = (1 + returns).cumprod(1)
    peak = wealth.cummax(1).values
    worst = (1 - wealth / peak).amax(1)
    downside = returns.clamp(max=0).square().mean(1).add(1e-8).sqrt()
    mean, std = returns.mean(1), returns.std(1)
    growth = wealth[:, -1] ** (252 / returns.shape[1]) - 1
    return mean / std * 252**0.5, mean / downside * 252**0.5, growth / worst.clamp(min=1e-4)


both("drawdowns", drawdowns, lambda n, t: [normal(n, t) / 100], (4, 24), (100, 252), (4000, 252))


def garch_likelihood(returns, omega, alpha, beta):
    omega, alpha, beta = omega.exp(), alpha.sigmoid() * 0.3, beta.sigmoid() * 0.7
    variance = returns.var(1)
    loss = 0
    for r in returns.unbind(1):
        loss = loss + variance.log() + r * r / variance
        variance = omega + alpha * r * r + beta * variance
    return 0.5 * loss


add(
    "likelihood of GARCH, trained",
    garch_likelihood,
    lambda n, t: [normal(n, t), normal(n), normal(n), normal(n)],
    (8, 12),
    (1000, 12),
    (60000, 12),
    trained=True,
)


def signals_of_prices(prices):
    change = prices.diff(dim=1)
    gain = F.relu(change).unfold(1, 14, 1).mean(-1)
    loss = F.relu(-change).unfold(1, 14, 1).mean(-1)
    strength = 100 - 100 / (1 + gain / (loss + 1e-9))
    window = prices.unfold(1, 20, 1)
    middle, band = window.mean(-1), 2 * window.std(-1, correction=0)
    last = prices[:, 19:]
    strength = strength[:, 5:]
    buy = (strength < 30) & (last < middle - band)
    sell = (strength > 70) & (last > middle + band)
    return torch.where(buy, 1, torch.where(sell, -1, 0)).to(torch.int8), strength, (last - middle) / (band + 1e-9)


add(
    "strength and bands of prices",
    signals_of_prices,
    lambda n, t: [100 + normal(n, t).cumsum(1)],
    (2, 40),
    (64, 250),
    (2000, 500),
)


def haar_denoised(x):
    details = []
    for _ in range(3):
        even, odd = x[..., ::2], x[..., 1::2]
        details.append((even - odd) * 0.5**0.5)
        x = (even + odd) * 0.5**0.5
    noise = details[0].abs().median(-1, keepdim=True).values / 0.6745
    limit = noise * (2 * math.log(details[0].shape[-1])) ** 0.5
    for detail in reversed(details):
        detail = detail.sign() * F.relu(detail.abs() - limit)
        x = torch.stack([x + detail, x - detail], -1).flatten(-2) * 0.5**0.5
    return x


add("wavelets shrunk", haar_denoised, lambda n, t: [normal(n, t)], (2, 32), (32, 512), (400, 4096))


def channel_energy(mel, log_smooth, log_gain, log_bias, log_root):
    t = mel.shape[-1]
    at = torch.arange(t, device=mel.device)
    smooth = log_smooth.sigmoid()
    decay = torch.exp(torch.log1p(-smooth) * (at[:, None] - at).clamp(min=0)).tril()
    level = mel @ (smooth * decay).T
    gain, bias, root = log_gain.sigmoid(), log_bias.exp(), log_root.sigmoid()
    bias, root = bias[:, None], root[:, None]
    return (mel * (level + 1e-6) ** -gain[:, None] + bias) ** root - bias**root


both(
    "energy normalised by channel",
    channel_energy,
    lambda b, f, t: [uniform(b, f, t), torch.tensor(-3.0), normal(f) + 2, normal(f) / 4, normal(f)],
    (1, 8, 16),
    (2, 40, 100),
    (16, 80, 500),
)


def companded(wave):
    x = wave.clamp(-1, 1)
    code = x.sign() * torch.log1p(255 * x.abs()) / math.log(256)
    code = ((code + 1) / 2 * 255 + 0.5).floor().to(torch.uint8)
    y = code.to(wave.dtype) / 255 * 2 - 1
    y = y.sign() * (torch.exp(y.abs() * math.log(256)) - 1) / 255
    error = wave - y
    return code, y, 10 * torch.log10(wave.square().mean(-1) / error.square().mean(-1).clamp(min=1e-12))


add("mu-law there and back", companded, lambda n, t: [normal(n, t) / 3], (2, 50), (8, 4000), (24, 50001))


def survival(times, events):
    order = times.argsort(1)
    ordered = times.gather(1, order)
    died = events.gather(1, order).to(times.dtype)
    at_risk = times.shape[1] - torch.arange(times.shape[1], device=times.device)
    curve = (1 - died / at_risk).cumprod(1)
    hazard = (died / at_risk).cumsum(1)
    variance = curve.square() * (died / (at_risk * (at_risk - died).clamp(min=1))).cumsum(1)
    before = torch.cat([torch.ones_like(curve[:, :1]), curve[:, :-1]], 1)
    return (
        curve,
        hazard,
        variance.sqrt(),
        (before * ordered.diff(dim=1, prepend=torch.zeros_like(ordered[:, :1]))).sum(1),
    )


add(
    "curves of survival",
    survival,
    lambda n, t: [-uniform(n, t, low=1e-4).log(), integers(3, n, t) > 0],
    (2, 20),
    (16, 500),
    (200, 7000),
)


def bootstrap(x, index):
    means = x[index].mean(1)
    levels = torch.tensor([0.025, 0.5, 0.975], dtype=x.dtype, device=x.device)
    return torch.quantile(means, levels, dim=0), means.std(0), (means > 0).double().mean(0)


add(
    "bootstrap of means",
    bootstrap,
    lambda n, b, d: [normal(n, d), integers(n, b, n)],
    (12, 8, 2),
    (100, 64, 3),
    (500, 600, 6),
)
