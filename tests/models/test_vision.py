import pytest

from openosce.models import ModelSpec, reads_images


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("openai/gpt-3.5-turbo", False),
        ("openai/gpt-4-1106-preview", False),
        ("openai/o1-mini", False),
        ("vllm/mistral-7b-instruct", False),
        ("together/mistralai/Mixtral-8x7B-Instruct-v0.1", False),
        ("vllm/llama-3-8b", False),
        ("openrouter/meta-llama/llama-3.3-70b-instruct", False),
        ("local/smollm2-135m", False),
        ("openai/gpt-4o", True),
        ("openai/gpt-4-turbo", True),
        ("vllm/llama-3.2-11b-vision-instruct", True),
        ("vllm/qwen2.5-vl-7b-instruct", True),
        ("anthropic/claude-3-5-sonnet", True),
        ("mine/never-heard-of", True),
    ],
)
def test_models_known_to_read_text_alone_are_told_by_their_names(name, reads):
    assert reads_images(ModelSpec(name)) is reads


@pytest.mark.parametrize("said", [True, False])
def test_what_the_study_says_counts_and_does_not_change_the_request(said):
    spec = ModelSpec("openai/gpt-3.5-turbo", vision=said)
    assert reads_images(spec) is said
    assert spec.fingerprint == ModelSpec("openai/gpt-3.5-turbo").fingerprint
