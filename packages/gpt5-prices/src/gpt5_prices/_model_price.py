"""The price of a model, and the cost of a call by it: arithmetic in `Decimal`, without rounding."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import TypedDict, Unpack


_PER_TOKEN = Decimal("0.000001")  # Rates are per million tokens.
_STANDARD = Decimal(1)

COMPLETION_WINDOWS: Mapping[str, Decimal] = {"2h": Decimal("0.70"), "8h": Decimal("0.60")}
"""The factor of each completion window of a background response on the standard rates.

Source: https://platform.openai.com/docs/guides/flex-processing, read 2026-11-22.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """The prices of a million tokens.

    Attributes:
        input: Input that is neither read from the prompt cache nor written to it.
        cached_input: Input read from the cache; equals `input` if no lower rate is published.
        cache_write: Input written to the cache for 30 minutes; equals `input` if that is not billed separately.
        cache_write_12h: Input written to the cache for 12 hours; likewise.
        output: Output, reasoning included.
    """

    input: Decimal
    cached_input: Decimal
    cache_write: Decimal
    cache_write_12h: Decimal
    output: Decimal

    def times(self, factor: Decimal) -> "Rates":
        """Return all rates multiplied by a factor."""
        return Rates(**{rate.name: getattr(self, rate.name) * factor for rate in fields(self)})


class ToolUses(TypedDict, total=False):
    """The uses of the server's tools, which are billed separately from tokens: numbers from 0 up, under the names of `ToolRates`."""

    web_searches: int
    file_searches: int
    containers: int
    image_input_text_tokens: int
    image_input_image_tokens: int
    image_output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRates:
    """The prices of the server's tools, each for one use, whatever the model and the tier; OpenAI's in USD by default.

    Attributes:
        web_searches: A web search; the tokens that it adds to the input are billed as input.
        file_searches: A search of a vector store.
        containers: A container of 1 GB for 20 minutes. It is billed by the minute, at least 5, but a response does not report them.
        image_input_text_tokens: A token of text that the image model reads; these three are for gpt-image-2, the only one whose prices were found.
        image_input_image_tokens: A token of an image that it reads.
        image_output_tokens: A token that it draws.

    Source: OpenAI's pricing page as kept in llms-txt-archive/openai-platform at a30a6225; genai-prices 0.2.3 and litellm 1.109.1 agree.
    """

    web_searches: Decimal = Decimal("0.01")
    file_searches: Decimal = Decimal("0.0025")
    containers: Decimal = Decimal("0.03")
    image_input_text_tokens: Decimal = Decimal("0.000005")
    image_input_image_tokens: Decimal = Decimal("0.000008")
    image_output_tokens: Decimal = Decimal("0.00003")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """The cost of a call, not rounded.

    Attributes:
        input: The cost of the input tokens.
        output: The cost of the output tokens.
        tools: The cost of the server's tools.
        currency: ISO 4217 code.
    """

    input: Decimal
    output: Decimal
    tools: Decimal
    currency: str

    @property
    def total(self) -> Decimal:
        """The sum of all three."""
        return self.input + self.output + self.tools


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPrice:
    """The price of a model.

    Attributes:
        rates: The standard rates.
        long_rates: The rates of a whole call whose input is above `long_above_tokens`; None if it costs no more.
        long_above_tokens: The most input tokens, cached ones included, that are billed at `rates`.
        service_tiers: The factor of each service tier on all rates; a tier that is not here has the standard rates.
        long_service_tiers: The same for `long_rates`.
        tool_rates: The prices of the server's tools.
        currency: ISO 4217 code.
    """

    rates: Rates
    long_rates: Rates | None = None
    long_above_tokens: int = 272_000
    service_tiers: Mapping[str, Decimal] = field(default_factory=dict[str, Decimal], hash=False)
    long_service_tiers: Mapping[str, Decimal] = field(
        default_factory=dict[str, Decimal], hash=False
    )
    tool_rates: ToolRates = ToolRates()
    currency: str = "USD"

    def find_rates(
        self,
        *,
        input_tokens: int = 0,
        service_tier: str | None = None,
        completion_window: str | None = None,
    ) -> Rates:
        """Return the rates of a call.

        Args:
            input_tokens: All of its input, cached or not; a long input may have its own rates.
            service_tier: The tier that the response names, which need not be the one that was asked for.
            completion_window: The window that a background response was submitted with, such as `8h`; it replaces the tier.
        """
        rates, tiers = self.rates, self.service_tiers
        if self.long_rates is not None and input_tokens > self.long_above_tokens:
            rates, tiers = self.long_rates, self.long_service_tiers
        factor = tiers.get(service_tier or "", _STANDARD)
        return rates.times(COMPLETION_WINDOWS.get(completion_window or "", factor))

    def cost(  # noqa: PLR0913  each is billed at a rate of its own
        self,
        *,
        input_tokens: int = 0,
        cached_tokens: int = 0,
        cache_write_tokens: int = 0,
        cache_write_12h_tokens: int = 0,
        output_tokens: int = 0,
        service_tier: str | None = None,
        completion_window: str | None = None,
        **tool_uses: Unpack[ToolUses],
    ) -> Cost:
        """Return the cost of a call. The numbers are those of a response's `usage`; a part that is larger than its whole counts as the whole.

        Args:
            input_tokens: All input, cached or not.
            cached_tokens: The part of `input_tokens` that was read from the prompt cache.
            cache_write_tokens: The part of `input_tokens` that was written to the cache.
            cache_write_12h_tokens: The part of `cache_write_tokens` that is kept for 12 hours.
            output_tokens: All output, reasoning included.
            service_tier: As for `find_rates`.
            completion_window: As for `find_rates`.
            tool_uses: The uses of the server's tools.
        """
        rates = self.find_rates(
            input_tokens=input_tokens,
            service_tier=service_tier,
            completion_window=completion_window,
        )
        cached = min(cached_tokens, input_tokens)
        written = min(cache_write_tokens, input_tokens - cached)
        written_12h = min(cache_write_12h_tokens, written)
        input_cost = (
            (input_tokens - cached - written) * rates.input
            + cached * rates.cached_input
            + (written - written_12h) * rates.cache_write
            + written_12h * rates.cache_write_12h
        )
        tools = (uses * getattr(self.tool_rates, tool) for tool, uses in tool_uses.items())
        return Cost(
            input=input_cost * _PER_TOKEN,
            output=output_tokens * rates.output * _PER_TOKEN,
            tools=sum(tools, Decimal(0)),
            currency=self.currency,
        )
