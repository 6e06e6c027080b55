"""`osce models`: which providers there are, and whether a model can be reached."""

import asyncio
import os
import time
from typing import Annotated

import typer
from rich.table import Table

from openosce.errors import ProviderError, StudyError
from openosce.models import ChatMessage, Closable, Model, ModelSpec, Reply, Request, load_prices
from openosce.models.chat_completions import ChatCompletions
from openosce.models.providers import BRIDGES, BUILTIN_MODELS, PRESETS, base_url, build_model, require_key
from openosce.reports import terminal
from openosce.reports.text import one_line

app = typer.Typer(help="List providers, and check whether a model can be reached.", no_args_is_help=True)

_QUESTION = "Reply with the single word: ready"


@app.command("list")
def list_providers() -> None:
    """List the providers, their endpoints, and which keys are set."""
    table = Table("provider", box=None)
    for head in ("endpoint", "key"):
        table.add_column(head, overflow="fold")
    for name, preset in PRESETS.items():
        key = f"{preset.key} ({'set' if os.environ.get(preset.key) else 'not set'})" if preset.key else "none needed"
        table.add_row(name, preset.base_url or "your own: AZURE_OPENAI_ENDPOINT", key)
    for name in BRIDGES:
        table.add_row(name, "through another library", f"extra: pip install 'openosce[{name}]'")
    for name in BUILTIN_MODELS:
        table.add_row(name, "a file of replies", "none needed")
    terminal().print(table)


@app.command()
def check(
    model: Annotated[str, typer.Argument(help="The model, provider/name.")],
    role: Annotated[
        str, typer.Option(help="The role it is to play; decides which variables are looked at.")
    ] = "doctor",
    url: Annotated[str | None, typer.Option("--base-url", help="The endpoint, where it is no preset's.")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Limit of the reply's tokens.")] = None,
) -> None:
    """Say what is missing to reach MODEL, or call it once.

    Shows what came back: the reply, tokens, and the price of the call.
    """
    if "/" not in model:
        raise StudyError(f"the model {model!r} has no provider; write it provider/name")
    own = url or os.environ.get(f"OPENOSCE_{role.upper()}_BASE_URL")
    spec = ModelSpec(model, own, {"max_tokens": max_tokens} if max_tokens else {})
    built = build_model(spec, role)
    require_key(spec)
    if isinstance(built, ChatCompletions):
        typer.echo(f"endpoint: {base_url(spec)}")
    started = time.perf_counter()
    try:
        reply = asyncio.run(_ask(built))
    except ProviderError as failure:
        raise StudyError(f"{model} cannot be reached: {failure}") from None
    typer.echo(f"reply: {one_line(reply.text)!r} in {1000 * (time.perf_counter() - started):.0f} ms")
    typer.echo(f"model: {reply.model_id or 'not reported'}; finish reason: {reply.finish_reason or 'not reported'}")
    typer.echo(f"tokens: {_count(reply.tokens_in)} in, {_count(reply.tokens_out)} out")
    dollars = load_prices().dollars(model, reply)
    typer.echo("price: unknown; give it in a price book" if dollars is None else f"price: ${dollars:.6f}")


async def _ask(model: Model) -> Reply:
    try:
        return await model.complete(Request((ChatMessage("user", _QUESTION),), "check"))
    finally:
        if isinstance(model, Closable):
            await model.close()


def _count(tokens: int | None) -> str:
    return "not reported" if tokens is None else str(tokens)
