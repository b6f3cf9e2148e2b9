"""Which models there are and who serves them: the catalog, the scripts, and one provider for each service."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from attrs import evolve

from quillback.config import Settings
from quillback.core.mask import Mask
from quillback.core.model import Failure, Model, ModelRequest, ProviderError, ProviderEvent
from quillback.core.ports import Provider
from quillback.credentials import (
    OPENAI,
    Credentials,
    CredentialsError,
    configured,
    is_official,
    key_command,
    resolve_api_key,
)
from quillback.providers.anthropic import AnthropicProvider
from quillback.providers.catalog import CATALOG_DATE, Catalog
from quillback.providers.openai import OpenAIProvider
from quillback.providers.script_format import ScriptError
from quillback.providers.scripted import BUILT_IN, ScriptedProvider, load_script
from quillback.providers.text_tools import TextTools

DEFAULT_MODEL = "claude-sonnet-5-5"
SCRIPTED = "scripted:"
SCRIPT_WINDOW = 200_000
REFUSAL_SECONDS = 3.0
"""How long a key that could not be found is not looked for again."""
log = logging.getLogger(__name__)


class KeyedProvider:
    """A provider that is made at its first request, since finding its key may take a command or the keyring.

    `service` is the name of one in `credentials`.
    """

    def __init__(self, settings: Settings, mask: Mask, service: str) -> None:
        self._settings = settings
        self._mask = mask
        self._service = service
        self._lock = threading.Lock()
        self._provider: AnthropicProvider | OpenAIProvider | None = None
        self._refusal: CredentialsError | None = None
        self._refused_at = 0.0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent, None]:
        try:
            provider = await asyncio.to_thread(self._made)
        except CredentialsError as error:
            raise ProviderError(Failure.NO_CREDENTIALS, str(error)) from None
        async with aclosing(provider.stream(request)) as events:
            async for event in events:
                yield event

    def warm_up(self) -> None:
        """Do the slow part of the first request in advance; may run in any thread."""
        try:
            self._made().warm_up()
        except CredentialsError as error:
            log.info("%s", error)

    async def close(self) -> None:
        if self._provider is not None:
            await self._provider.close()

    def _made(self) -> AnthropicProvider | OpenAIProvider:
        with self._lock:
            if self._provider is None:
                found = self._found()
                log.debug("the key for the model service: %s", found.source)
                self._mask.add((found.api_key, found.auth_token))
                self._provider = _provider_of(self._settings, self._service, found)
            return self._provider

    def _found(self) -> Credentials:
        """Raises CredentialsError, again the same one if it is fresh: a turn asks after the warm-up that it began."""
        if self._refusal is not None and time.monotonic() - self._refused_at < REFUSAL_SECONDS:
            raise self._refusal
        try:
            return resolve_api_key(self._settings, self._service)
        except CredentialsError as error:
            self._refusal, self._refused_at = error, time.monotonic()
            raise


def _provider_of(settings: Settings, service: str, found: Credentials) -> AnthropicProvider | OpenAIProvider:
    if service == OPENAI:
        return OpenAIProvider(
            base_url=settings.openai_base_url, api_key=found.api_key, idle_timeout=settings.stream_idle_timeout
        )
    return AnthropicProvider(
        base_url=settings.anthropic_base_url,
        api_key=found.api_key,
        auth_token=found.auth_token,
        api_version=settings.anthropic_version,
        idle_timeout=settings.stream_idle_timeout,
    )


class Models:
    """`problems` are faults of the settings that concern models; `date` is the day of the prices.

    `mask` learns of the key when it is found.
    """

    date = CATALOG_DATE

    def __init__(
        self, settings: Settings, mask: Mask | None = None, *, variables: Mapping[str, str] | None = None
    ) -> None:
        self._settings = settings
        self._mask = mask or Mask()
        self._variables = dict(variables or {})
        self._providers: dict[str, Provider] = {}
        self._catalog = Catalog(settings.models)
        self.problems = tuple(
            f"{settings.sources.get(wrong.where, str(settings.config_file))}: {wrong}"
            for wrong in self._catalog.problems
        )
        self.default = settings.model or DEFAULT_MODEL
        self.small = self._small()

    def get(self, model_id: str) -> Model:
        """Any id gives a model: unknown ones get the catalog's cautious defaults."""
        if model_id.startswith(SCRIPTED):
            model = Model(model_id, "scripted", _script_name(model_id), SCRIPT_WINDOW, 32_000)
        else:
            model = self._catalog.get(model_id)
        window = self._settings.context_window
        return model if window is None else evolve(model, context_window=window)

    def choices(self) -> list[tuple[str, str]]:
        """Ids and names to choose from: the default first. OpenAI's own are among them where they can be reached."""
        ids = dict.fromkeys((self.default, *(m.id for m in self._catalog.all() if self._is_offered(m))))
        return [(id_, self.get(id_).name) for id_ in ids]

    def services(self) -> list[str]:
        """The services that the default model and the small one need, in this order; scripts need none."""
        used = dict.fromkeys(self.get(id_).provider for id_ in (self.default, self.small))
        return [name for name in used if name != "scripted"]

    def _small(self) -> str:
        """A model of another service would be told what was said, so none is taken unless the user named it."""
        told = "small_model" in self._settings.sources or self.get(self.default).provider != OPENAI
        return self._settings.small_model if told else self.default

    def _is_offered(self, model: Model) -> bool:
        settings = self._settings
        if model.provider != OPENAI or model.id in settings.models:
            return True
        known = configured(settings, OPENAI) or key_command(settings, OPENAI)
        return is_official(settings, OPENAI) and bool(known or self.get(self.default).provider == OPENAI)

    def provider(self, model: Model) -> Provider:
        """Raises ProviderError for a script that cannot be read."""
        key = model.id if model.provider == "scripted" else model.provider
        if key not in self._providers:
            self._providers[key] = self._make(model)
        provider = self._providers[key]
        return TextTools(provider) if model.text_tools else provider

    def warm_up(self, model_id: str) -> None:
        """Import what the first request of a model needs, in a thread of its own."""
        model = self.get(model_id)
        if model.provider == "scripted":
            return
        provider = self.provider(model)
        if isinstance(provider, TextTools):
            provider = provider.inner
        if isinstance(provider, KeyedProvider):
            threading.Thread(target=provider.warm_up, name="warm up", daemon=True).start()

    async def close(self) -> None:
        for provider in self._providers.values():
            await provider.close()

    def _make(self, model: Model) -> Provider:
        if model.provider != "scripted":
            return KeyedProvider(self._settings, self._mask, model.provider)
        name = model.id.removeprefix(SCRIPTED)
        if not name:
            choices = ", ".join(f"{SCRIPTED}{known}" for known in BUILT_IN)
            raise ProviderError(
                Failure.INVALID, f"The model `{SCRIPTED}` names no script: use {choices} or {SCRIPTED}FILE."
            )
        try:
            script = load_script(name)
        except (ScriptError, OSError) as error:
            raise ProviderError(Failure.INVALID, f"The script cannot be played: {error}") from None
        return ScriptedProvider(script, variables=self._variables)


def _script_name(model_id: str) -> str:
    return f"Script {model_id.removeprefix(SCRIPTED)}"
