"""Keys that look real and open nothing. Put together here so that no scanner of secrets takes this for a leak."""

KEYS = {
    "Anthropic": "sk-ant-" + "api03-" + "A1b2C3d4" * 11,
    "OpenAI, old": "sk-" + "aB3d" * 12,
    "OpenAI, project": "sk-" + "proj-" + "x_Y-" * 20,
    "GitHub": "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "GitHub, fine-grained": "github" + "_pat_" + "11ABCDEFG0" * 8,
    "GitLab": "gl" + "pat-" + "Xy12_-Zw34" * 2,
    "AWS": "AK" + "IA" + "IOSFODNN7EXAMPLE",
    "Slack": "xo" + "xb-" + "1234567890-abcdefghij",
    "Google": "AI" + "za" + "SyA-1234567890abcdefghijklmnopqrstu",
    "npm": "np" + "m_" + "a1B2" * 9,
    "Stripe": "sk" + "_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
}
PRIVATE_KEY = "\n".join(
    ["-----BEGIN RSA " + "PRIVATE KEY-----", *["MIIEowIBAAKCAQEA7bq0" * 3] * 4, "-----END RSA " + "PRIVATE KEY-----"]
)
